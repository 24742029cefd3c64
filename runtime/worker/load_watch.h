// Whether one thread in RECV is enough for a listener's callers.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"

namespace sidecall::worker {

// Every thread that waits in RECV is woken by every call, so a second one costs a lone caller as
// much again, and it more than pays where callers on two CPUs call at once
// (tests/bench/receivers.cc). A notification names its thread: only where that changes from one
// call to the next does it cost a look whether another call waits. Decides once in a window of
// calls. Used by one thread.
class LoadWatch {
 public:
  enum class Advice : std::uint8_t { kStay, kGrow, kShrink };

  static constexpr unsigned kWindow = 256;   // calls of the first thread between two decisions
  static constexpr unsigned kWaiting = 16;   // of them, those that found another call waiting
  static constexpr unsigned kIdleShare = 8;  // the others are idle with less than one call in 8

  // After each call that the first thread has served, which came from thread `caller`. `further` is
  // how many threads there are beside it, `most` how many there may be; `served_by_others` counts
  // up.
  [[nodiscard]] Advice note(pid_t caller, unsigned further, unsigned most,
                            FunctionRef<bool()> another_waits,
                            FunctionRef<std::uint64_t()> served_by_others);

  // Whether the last note() was the end of a window.
  [[nodiscard]] bool is_window_over() const { return calls_ == 0; }
  // Threads that called last, which may be the same one twice.
  [[nodiscard]] const std::array<pid_t, 4>& callers() const { return callers_; }

 private:
  std::array<pid_t, 4> callers_{};
  std::size_t newest_ = 0;  // in callers_
  unsigned calls_ = 0;
  unsigned waiting_ = 0;
  std::uint64_t served_before_ = 0;
};

}  // namespace sidecall::worker
