// What an emulator decides about one call.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::emulators {

// The kernel runs the call as if sidecall were not there. Only where the kernel's own check of the
// caller then decides: never as a way to deny.
struct Continue {};
// The call succeeds with this return value.
struct Value {
  std::int64_t value = 0;
};
// The descriptor is put into the caller's table and its number returned.
struct Fd {
  UniqueFd fd;
  bool cloexec = false;
};
// The caller is gone; there is nobody to answer.
struct Gone {};

using Verdict = std::variant<Continue, Errno, Value, Fd, Gone>;

// Indices of per-verdict counters, in the order of the variant's alternatives.
enum class VerdictKind : std::uint8_t { kContinue, kErrno, kValue, kFd, kGone };
inline constexpr std::size_t kVerdictKinds = std::variant_size_v<Verdict>;

// A verdict, or a failure of sidecall's own, which the worker counts, reports and answers with EIO.
using Outcome = Result<Verdict>;

}  // namespace sidecall::emulators
