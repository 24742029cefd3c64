// Why: free, uptime, the JVM, databases and build systems size themselves by sysinfo(2), which
// knows nothing of cgroups and shows the host.
//
// Why it is safe: it gives the sandbox figures about itself and takes nothing from its memory.
#include "emulators/sysinfo.h"

#include <linux/capability.h>
#include <sys/sysinfo.h>

#include <array>
#include <bit>
#include <span>

#include "emulators/sysinfo_figures.h"

namespace sidecall::emulators {
namespace {

class SysinfoEmulator final : public Emulator {
 public:
  Outcome emulate(const Call& call, Environment& environment) const override {
    const auto resources = environment.sandbox.resources();
    if (!resources) return tl::unexpected<Error>(resources.error());
    auto info = std::bit_cast<struct sysinfo>(resources->host);
    apply_limits(info, *resources);
    const auto written = [&] {
      if (!kernel::is_32_bit(call.abi)) {
        return environment.target.write(call.args[0], std::as_bytes(std::span(&info, 1)));
      }
      const Sysinfo32 narrowed = narrow(info);
      return environment.target.write(call.args[0], std::as_bytes(std::span(&narrowed, 1)));
    }();
    if (!written) return written.error();
    return Value{0};
  }
};

}  // namespace

Row sysinfo_row() {
  static constexpr std::array<Member, 1> kMembers = {Member{"sysinfo", {}}};
  return Row{
      .name = "sysinfo",
      .members = kMembers,
      .support = Support::kFull,
      .rights = {.needs = Needs::kMemory,
                 // CAP_DAC_OVERRIDE: /proc/TID/mem belongs to the caller's user, and is nobody
                 // else's to open.
                 .capabilities = 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_OVERRIDE},
      .options = {},
      .summary = "shows the sandbox's memory and swap limits, process count and uptime",
      .notes =
          "Limits and use come from the sandbox's cgroups (v1 or v2); the load averages stay the "
          "host's. All figures are at most 100 ms old.",
      .example = R"({"rules": [{"emulate": "sysinfo"}]})",
      .make = [](const Options&) -> Result<std::unique_ptr<Emulator>> {
        return std::make_unique<SysinfoEmulator>();
      },
  };
}

}  // namespace sidecall::emulators
