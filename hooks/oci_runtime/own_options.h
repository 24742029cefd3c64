// sidecall-runtime's own options. They stand before everything that is the runtime's, and are the
// only words of the command line that the runtime does not get.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oci_hook/arguments.h"

namespace sidecall::oci_runtime {

struct OwnOptions {
  enum class Wish : std::uint8_t { kRun, kHelp, kVersion };
  Wish wish = Wish::kRun;
  std::string runtime;                // a name or a path; "": as our own name says
  std::optional<std::string> policy;  // for containers that name none; none: those stay as they are
  std::vector<std::string> labelled;  // the policies that a label of docker's may name
  oci_hook::Arguments places;         // run and policy directories, patience
  std::size_t words = 0;              // of the command line that are ours
};

inline constexpr std::string_view kUsage =
    "Usage: sidecall-runtime [--sidecall-OPTION ...] [the OCI runtime's own command line]\n"
    "\n"
    "An OCI runtime: crun or runc, whose containers are put under sidecall when they are created.\n"
    "Every other command goes to the runtime as it is. A container is chosen by its annotation\n"
    "dev.sidecall.policy, which names the policy.\n"
    "\n"
    "  --sidecall-runtime NAME|PATH  the runtime; else what follows \"sidecall-runtime-\" in the "
    "name\n"
    "                                by which this program is called, else crun, else runc\n"
    "  --sidecall-labels NAME,NAME   policies that the label dev.sidecall.policy may name as well, "
    "of\n"
    "                                containers of docker; mind that images have labels too\n"
    "  --sidecall-policy NAME        puts every container under this policy that names no other\n"
    "  --sidecall-run-dir DIR        where sidecalld has its sockets (/run/sidecall)\n"
    "  --sidecall-policy-dir DIR     where policies are, as NAME.json (/etc/sidecall/policies)\n"
    "  --sidecall-wait MS            for a sidecalld that is being restarted, at most 4000 (3000)\n"
    "  --sidecall-help, --sidecall-version\n";

// `words` leaves out the program's name. Options are "--name value" or "--name=value".
[[nodiscard]] Result<OwnOptions> read_own_options(std::span<const char* const> words);

}  // namespace sidecall::oci_runtime
