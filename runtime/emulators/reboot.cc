// Why: an image's init ends in reboot(2), or forbids Ctrl-Alt-Del with it as it starts; without
// CAP_SYS_BOOT it gets EPERM, and some of them hang or panic on it.
//
// Why it is safe: nothing is done, for anybody; or the sandbox is ended, and nothing else, by its
// own root.
#include "emulators/reboot.h"

#include <linux/capability.h>
#include <linux/reboot.h>

#include <array>
#include <vector>

#include "emulators/mode.h"

namespace sidecall::emulators {
namespace {

// What ends a pid namespace where the kernel carries it out: reboot_pid_ns().
bool ends(std::uint32_t command) {
  return command == LINUX_REBOOT_CMD_RESTART || command == LINUX_REBOOT_CMD_RESTART2 ||
         command == LINUX_REBOOT_CMD_HALT || command == LINUX_REBOOT_CMD_POWER_OFF;
}

class StopEmulator final : public Emulator {
 public:
  Outcome emulate(const Call& call, Environment& environment) const override {
    if (!ends(static_cast<std::uint32_t>(call.args[2]))) return Continue{};
    kernel::Target& target = environment.target;
    const auto credentials = target.credentials();
    if (!credentials) return credentials.error();
    // Who holds the capability ends its own pid namespace by the kernel's hand.
    if (credentials->has_capability(CAP_SYS_BOOT) || credentials->fsuid != 0) return Continue{};
    const auto users = target.in_sandbox_user_namespace();
    if (!users) return users.error();
    const auto pids = target.in_sandbox_pid_namespace();
    if (!pids) return pids.error();
    if (!*users || !*pids) return Continue{};
    if (const auto stopped = environment.sandbox.stop(); !stopped) return stopped.error();
    // The kernel would not return. In the sandbox's pid namespace the caller does not see this.
    return Value{0};
  }

  Rights further_rights() const override {
    return {.needs = Needs::kMemory,
            .capabilities = 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_KILL};
  }
};

Result<ModeOptions> read(const Options& options) {
  return read_mode(options, {Mode::kPretend, Mode::kErrno, Mode::kStop});
}

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  const auto mode = read(options);
  if (mode && mode->mode == Mode::kStop) return std::make_unique<StopEmulator>();
  return make_fixed(mode);
}

std::optional<FixedAnswer> fixed(const Options& options, std::size_t) {
  const auto mode = read(options);
  if (!mode || mode->mode == Mode::kStop) return std::nullopt;
  return fixed_answer(*mode);
}

// The kernel takes all three registers as 32 bits.
Condition is(std::uint8_t index, std::uint32_t value) {
  return {index, Compare::kMaskedEqual, 0xffffffff, value};
}

// What the kernel carries out by the magic numbers that every C library passes. It knows three more
// for the second one: libseccomp 2.5 cannot build a filter for several values of a register with
// several values of the next below each.
std::vector<Conditions> valid_calls() {
  static constexpr std::array<std::uint32_t, 8> kCommands = {
      LINUX_REBOOT_CMD_RESTART,  LINUX_REBOOT_CMD_HALT,   LINUX_REBOOT_CMD_POWER_OFF,
      LINUX_REBOOT_CMD_RESTART2, LINUX_REBOOT_CMD_KEXEC,  LINUX_REBOOT_CMD_SW_SUSPEND,
      LINUX_REBOOT_CMD_CAD_ON,   LINUX_REBOOT_CMD_CAD_OFF};
  std::vector<Conditions> calls;
  calls.reserve(kCommands.size());
  for (const std::uint32_t command : kCommands) {
    calls.push_back({is(0, LINUX_REBOOT_MAGIC1), is(1, LINUX_REBOOT_MAGIC2), is(2, command)});
  }
  return calls;
}

}  // namespace

Row reboot_row() {
  static const std::vector<Conditions> kValid = valid_calls();
  static const std::array<Member, 1> kMembers = {Member{"reboot", kValid}};
  static constexpr std::array<OptionSpec, 2> kOptions = {
      OptionSpec{
          "mode", OptionType::kString, true,
          "\"pretend\": success, and nothing stops; \"errno\": an error; \"stop\": the sandbox "
          "ends"},
      kErrnoOption};
  return Row{
      .name = "reboot",
      .members = kMembers,
      .support = Support::kPartial,
      .rights = {.needs = Needs::kRegisters},
      .options = kOptions,
      .summary =
          "lets reboot succeed without an effect, fail with a chosen error, or end the sandbox",
      .notes =
          "The filter answers \"pretend\" and \"errno\", at no cost: whoever calls. The kernel "
          "never "
          "returns from a restart, a halt or a power-off; when it is pretended the caller runs on. "
          "\"stop\" is for user 0 of the sandbox without CAP_SYS_BOOT: its restart, halt and "
          "power-off kill the sandbox's first process. Wrong magic numbers and commands that the "
          "kernel does not know stay with it. The text of a restart with one is not looked at.",
      .example = R"({"rules": [{"emulate": "reboot", "options": {"mode": "pretend"}}]})",
      .make = make,
      .fixed = fixed,
  };
}

}  // namespace sidecall::emulators
