// What a call gets that no plugin answers: the policy's word.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <variant>

#include "emulators/program.h"
#include "emulators/verdict.h"

namespace sidecall::worker {

enum class RemoteTrouble : std::uint8_t {
  kAbsent,    // there is no plugin to ask
  kLost,      // it went before it had answered
  kLate,      // its time is over
  kUnserved,  // the plugin does not serve this call
};

using WithoutAnswer = std::variant<emulators::Continue, Errno>;

// `maybe_done`: the plugin has had the call, and it is none that can be asked again. It is then
// neither repeated by the next plugin nor left to the kernel. Nothing: the call waits.
[[nodiscard]] inline std::optional<WithoutAnswer> without_answer(const emulators::Remote& rule,
                                                                 RemoteTrouble trouble,
                                                                 bool maybe_done) {
  using Absent = emulators::Remote::Absent;
  const WithoutAnswer refused = Errno{rule.errno_value};
  if (trouble == RemoteTrouble::kUnserved) {
    return rule.may_continue && !maybe_done ? WithoutAnswer(emulators::Continue{}) : refused;
  }
  switch (rule.absent) {
    case Absent::kErrno:
      return refused;
    case Absent::kContinue:
      return maybe_done ? WithoutAnswer(Errno{EINTR}) : emulators::Continue{};
    case Absent::kWait:
      if (trouble == RemoteTrouble::kLate) return refused;
      if (maybe_done) return WithoutAnswer(Errno{EINTR});
      return std::nullopt;
  }
  return refused;
}

}  // namespace sidecall::worker
