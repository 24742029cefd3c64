// The command line of sidecall-hook.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/paths.h"
#include "base/result.h"

namespace sidecall::oci_hook {

enum class Action : std::uint8_t { kPrecreate, kCreateRuntime, kPoststop, kHelp, kVersion };

struct Arguments {
  Action action = Action::kHelp;
  std::string run_directory{kDefaultRunDirectory};        // absolute
  std::string policy_directory{kDefaultPolicyDirectory};  // absolute
  std::string policy{kDefaultPolicy};  // of containers whose annotations name none
  // For an agent that is being restarted.
  std::chrono::milliseconds wait{3000};
};

inline constexpr std::chrono::milliseconds kLongestWait{4000};

inline constexpr std::string_view kUsage =
    "Usage: sidecall-hook [--run-dir DIR] [--policy-dir DIR] [--policy NAME] STAGE\n"
    "\n"
    "An OCI hook. STAGE is one of\n"
    "  precreate      config.json on standard input, the edited one on standard output\n"
    "  createRuntime  announces the container to sidecalld; OCI state on standard input\n"
    "  poststop       tells sidecalld that it has ended; OCI state on standard input\n"
    "\n"
    "  --run-dir DIR     where sidecalld has its sockets (/run/sidecall)\n"
    "  --policy-dir DIR  where policies are, as NAME.json (/etc/sidecall/policies)\n"
    "  --policy NAME     for containers without the annotation dev.sidecall.policy (default)\n"
    "  --wait MS         for a sidecalld that is being restarted, at most 4000 (3000)\n"
    "  --help, --version\n";

// `arguments` leaves out the program's name. Options are "--name value" or "--name=value".
[[nodiscard]] Result<Arguments> parse_arguments(std::span<const char* const> arguments);

}  // namespace sidecall::oci_hook
