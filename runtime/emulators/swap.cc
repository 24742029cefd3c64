// Why: an image's init and installers of cluster software run swapon -a or swapoff -a and stop
// where it fails; swap belongs to the host.
//
// Why it is safe: nothing is done, for anybody.
#include "emulators/swap.h"

#include <array>

#include "emulators/mode.h"

namespace sidecall::emulators {
namespace {

// All bits of swap_flags but SWAP_FLAGS_VALID of linux/swap.h: any of them is the kernel's EINVAL,
// before it asks for a capability.
constexpr std::uint64_t kInvalidFlags = 0xfff80000;

Result<ModeOptions> read(const Options& options) {
  return read_mode(options, {Mode::kPretend, Mode::kErrno});
}

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  return make_fixed(read(options));
}

std::optional<FixedAnswer> fixed(const Options& options, std::size_t) {
  const auto mode = read(options);
  return mode ? std::optional(fixed_answer(*mode)) : std::nullopt;
}

}  // namespace

Row swap_row() {
  static const std::array<Conditions, 1> kValid = {
      Conditions{{1, Compare::kMaskedEqual, kInvalidFlags, 0}}};
  static const std::array<Member, 2> kMembers = {Member{"swapon", kValid}, Member{"swapoff", {}}};
  static constexpr std::array<OptionSpec, 2> kOptions = {
      OptionSpec{"mode", OptionType::kString, true,
                 "\"pretend\": success, and swap stays as it is; \"errno\": an error"},
      kErrnoOption};
  return Row{
      .name = "swap",
      .members = kMembers,
      .support = Support::kPartial,
      .rights = {.needs = Needs::kRegisters},
      .options = kOptions,
      .summary = "lets swapon and swapoff succeed without an effect, or fail with a chosen error",
      .notes =
          "The filter answers, at no cost: whoever calls and whatever the path. Flags that the "
          "kernel does not know stay its EINVAL.",
      .example = R"({"rules": [{"emulate": "swap", "options": {"mode": "pretend"}}]})",
      .make = make,
      .fixed = fixed,
  };
}

}  // namespace sidecall::emulators
