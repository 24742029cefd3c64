// Why: installers, old runtimes and licence checks refuse a kernel whose release they do not know.
//
// Why it is safe: it changes only what the caller is told about itself.
#include "emulators/uname.h"

#include <linux/capability.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

namespace sidecall::emulators {
namespace {

// struct new_utsname of the kernel, which uname(2) fills on every ABI that is served here.
static_assert(sizeof(utsname) == std::size_t{6} * 65);
constexpr std::size_t kLongest = 64;

class UnameEmulator final : public Emulator {
 public:
  UnameEmulator(std::string release, std::string version, std::string nodename)
      : release_(std::move(release)),
        version_(std::move(version)),
        nodename_(std::move(nodename)) {}

  Outcome emulate(const Call& call, Environment& environment) const override {
    auto names = environment.target.uts();
    if (!names) return names.error();
    replace(names->release, release_);
    replace(names->version, version_);
    replace(names->nodename, nodename_);
    const auto written =
        environment.target.write(call.args[0], std::as_bytes(std::span(&*names, 1)));
    if (!written) return written.error();
    return Value{0};
  }

 private:
  static void replace(std::span<char, kLongest + 1> field, const std::string& text) {
    if (text.empty()) return;
    std::fill(field.begin(), field.end(), '\0');
    std::copy(text.begin(), text.end(), field.begin());
  }
  std::string release_;
  std::string version_;
  std::string nodename_;
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
  auto release = name_option(options, "release");
  if (!release) return pass_on(std::move(release));
  auto version = name_option(options, "version");
  if (!version) return pass_on(std::move(version));
  auto nodename = name_option(options, "nodename");
  if (!nodename) return pass_on(std::move(nodename));
  return std::make_unique<UnameEmulator>(std::move(*release), std::move(*version),
                                         std::move(*nodename));
}

}  // namespace

Row uname_row() {
  static constexpr std::array<Member, 1> kMembers = {Member{"uname", {}}};
  static constexpr std::array<OptionSpec, 3> kOptions = {
      OptionSpec{"release", OptionType::kString, false, "as `uname -r`; default: the kernel's"},
      OptionSpec{"version", OptionType::kString, false, "as `uname -v`; default: the kernel's"},
      OptionSpec{"nodename", OptionType::kString, false,
                 "as `uname -n`; default: that of the caller's UTS namespace"}};
  return Row{
      .name = "uname",
      .members = kMembers,
      .support = Support::kPartial,
      .needs = Needs::kMemory,
      // CAP_DAC_OVERRIDE: /proc/TID/mem belongs to the caller's user, and is nobody else's to open.
      // CAP_SYS_ADMIN: to look into a UTS namespace that is not the sandbox's own.
      .capabilities = 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_SYS_ADMIN,
      .options = kOptions,
      .summary = "tells another kernel release, version or node name",
      .notes =
          "Everything that is not replaced is that of the caller's own UTS namespace. A caller's "
          "personality (setarch) does not change the machine or the release here.",
      .example = R"({"rules": [{"emulate": "uname", "options": {"release": "5.10.0"}}]})",
      .make = make,
  };
}

}  // namespace sidecall::emulators
