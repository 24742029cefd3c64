#include "emulators/mode.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace sidecall::emulators {
namespace {

constexpr int kMaxErrno = 4095;  // MAX_ERRNO of linux/err.h

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::kPretend:
      return "pretend";
    case Mode::kErrno:
      return "errno";
    case Mode::kPerform:
      return "perform";
    case Mode::kStop:
      break;
  }
  return "stop";
}

// "\"pretend\" or \"errno\""
std::string names_of(std::initializer_list<Mode> modes) {
  std::string names;
  for (const Mode mode : modes) {
    names += (names.empty() ? "\"" : " or \"") + std::string(name_of(mode)) + "\"";
  }
  return names;
}

Result<Errno> read_error(const Options& options) {
  const std::string name = option_or(options, "errno", std::string("EPERM"));
  for (int number = 1; number <= kMaxErrno; ++number) {
    const char* known = strerrorname_np(number);
    if (known != nullptr && name == known) return Errno{number};
  }
  return failure("errno must be the name of an error, \"EPERM\" for example");
}

class FixedEmulator final : public Emulator {
 public:
  explicit FixedEmulator(FixedAnswer answer) : answer_(answer) {}

  Outcome emulate(const Call&, Environment&) const override {
    if (answer_.errno_value != 0) return Errno{answer_.errno_value};
    return Value{0};
  }

 private:
  FixedAnswer answer_;
};

}  // namespace

Result<ModeOptions> read_mode(const Options& options, std::initializer_list<Mode> offered) {
  const std::string name = option_or(options, "mode", std::string());
  const auto mode = std::find_if(offered.begin(), offered.end(),
                                 [&](Mode each) { return name_of(each) == name; });
  if (mode == offered.end()) return failure("mode must be " + names_of(offered));
  if (*mode == Mode::kErrno) {
    const auto error = read_error(options);
    if (!error) return tl::unexpected<Error>(error.error());
    return ModeOptions{.mode = *mode, .error = *error};
  }
  if (options.contains("errno")) return failure("errno is for mode \"errno\" only");
  return ModeOptions{.mode = *mode, .error = {}};
}

FixedAnswer fixed_answer(const ModeOptions& options) {
  return {.errno_value = static_cast<std::uint16_t>(options.error.value)};
}

Result<std::unique_ptr<Emulator>> make_fixed(const Result<ModeOptions>& options) {
  if (!options) return tl::unexpected<Error>(options.error());
  return std::make_unique<FixedEmulator>(fixed_answer(*options));
}

}  // namespace sidecall::emulators
