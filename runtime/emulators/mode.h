// Options "mode" and "errno": whether an emulator acts on a call, and what it tells the caller
// otherwise.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>

#include "base/result.h"
#include "emulators/table.h"

namespace sidecall::emulators {

enum class Mode : std::uint8_t {
  kPretend,  // "pretend": success, and nothing changes
  kErrno,    // "errno": the error that option "errno" names
  kPerform,  // "perform": it is done, with the host's rights
  kStop,     // "stop": the sandbox ends
};

struct ModeOptions {
  Mode mode = Mode::kPretend;
  Errno error;  // kErrno only
};

// Option "errno" as a row declares it; option "mode" has a summary of the row's own.
inline constexpr OptionSpec kErrnoOption{
    "errno", OptionType::kString, false,
    "the error of mode \"errno\", by its name; default: EPERM"};

// Reads both. `offered` are the modes that the row has; every other name is refused.
[[nodiscard]] Result<ModeOptions> read_mode(const Options& options,
                                            std::initializer_list<Mode> offered);

// Where every mode of a row answers all of its calls alike: what goes into Row::fixed and
// Row::make. The emulator does in a worker what the filter does without one.
[[nodiscard]] FixedAnswer fixed_answer(const ModeOptions& options);
[[nodiscard]] Result<std::unique_ptr<Emulator>> make_fixed(const Result<ModeOptions>& options);

}  // namespace sidecall::emulators
