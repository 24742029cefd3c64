// Why: installers, old runtimes and licence checks refuse a kernel whose release they do not know.
//
// Why it is safe: it changes only what the caller is told about itself.
#include "emulators/uname.h"

#include <linux/capability.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>

#include "emulators/uts_layouts.h"

namespace sidecall::emulators {
namespace {

constexpr std::size_t kLongest = sizeof(utsname::release) - 1;

// The fields that a policy may name, as options and as members of struct utsname.
using Field = char[kLongest + 1];  // NOLINT(modernize-avoid-c-arrays): as struct utsname has it
struct Replaceable {
  std::string_view option;
  Field utsname::*field;
};
constexpr std::array<Replaceable, 4> kReplaceable = {{{"release", &utsname::release},
                                                      {"version", &utsname::version},
                                                      {"nodename", &utsname::nodename},
                                                      {"domainname", &utsname::domainname}}};
using Texts = std::array<std::string, kReplaceable.size()>;  // empty: as it is

class UnameEmulator final : public Emulator {
 public:
  explicit UnameEmulator(Texts texts) : texts_(std::move(texts)) {}

  Outcome emulate(const Call& call, Environment& environment) const override {
    auto names = environment.target.uts();
    if (!names) return names.error();
    for (std::size_t at = 0; at < texts_.size(); ++at) {
      if (texts_[at].empty()) continue;
      Field& field = *names.*kReplaceable[at].field;
      std::fill(std::begin(field), std::end(field), '\0');
      std::copy(texts_[at].begin(), texts_[at].end(), std::begin(field));
    }
    const auto personality = environment.target.personality();
    if (!personality) return personality.error();
    const std::string bytes =
        uts_bytes(*names, static_cast<UtsLayout>(call.member), *personality, call.abi);
    const auto written = environment.target.write(call.args[0], std::as_bytes(std::span(bytes)));
    if (!written) return written.error();
    return Value{0};
  }

 private:
  Texts texts_;
};

Result<std::string> name_option(const Options& options, std::string_view name) {
  std::string text = option_or(options, name, std::string());
  if (options.contains(name) &&
      (text.empty() || text.size() > kLongest || text.find('\0') != std::string::npos)) {
    return failure(std::string(name) + " must have 1 to 64 bytes, none of them NUL");
  }
  return text;
}

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  Texts texts;
  for (std::size_t at = 0; at < texts.size(); ++at) {
    auto text = name_option(options, kReplaceable[at].option);
    if (!text) return pass_on(std::move(text));
    texts[at] = *std::move(text);
  }
  return std::make_unique<UnameEmulator>(std::move(texts));
}

}  // namespace

Row uname_row() {
  // In the order of UtsLayout. The last two are calls of i386 only.
  static constexpr std::array<Member, 3> kMembers = {Member{"uname", {}}, Member{"olduname", {}},
                                                     Member{"oldolduname", {}}};
  static constexpr std::array<OptionSpec, 4> kOptions = {
      OptionSpec{"release", OptionType::kString, false, "as `uname -r`; default: the kernel's"},
      OptionSpec{"version", OptionType::kString, false, "as `uname -v`; default: the kernel's"},
      OptionSpec{"nodename", OptionType::kString, false,
                 "as `uname -n`; default: that of the caller's UTS namespace"},
      OptionSpec{"domainname", OptionType::kString, false,
                 "the NIS domain, as `domainname`; default: that of the caller's UTS namespace"}};
  return Row{
      .name = "uname",
      .members = kMembers,
      .support = Support::kFull,
      .rights =
          {.needs = Needs::kMemory,
           // CAP_DAC_OVERRIDE: /proc/TID/mem belongs to the caller's user, and is nobody else's to
           // open. CAP_SYS_ADMIN: to look into a UTS namespace that is not the sandbox's own.
           .capabilities =
               1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_SYS_ADMIN},
      .options = kOptions,
      .summary = "tells another kernel release, version, node name or NIS domain",
      .notes =
          "Everything that is not replaced is that of the caller's own UTS namespace. A caller's "
          "personality (setarch) works on the answer as on the kernel's own: `--uname-2.6` on a "
          "release of the policy's too.",
      .example = R"({"rules": [{"emulate": "uname", "options": {"release": "5.10.0"}}]})",
      .make = make,
  };
}

}  // namespace sidecall::emulators
