// Calls whose effect must be had once, though their callers may be taken out of them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "kernel/listener.h"

namespace sidecall::worker {

// A signal takes a caller out of its call, unless the filter has WAIT_KILLABLE_RECV
// (seccomp_unotify(2)); when its handler returns the kernel makes the call again, with the same
// registers, while the first may still be served. Whoever serves the second waits for the first,
// and is told where that has had its effect and never been answered. May be used from any thread.
class MadeOnce {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 64;
  static constexpr std::chrono::seconds kLongest{10};  // that a handler is given

  // Before `call` is served: waits for the end of an earlier one of its thread, and says whether
  // that was this very call, unanswered.
  [[nodiscard]] bool begin(const kernel::Notification& call);
  // Whether it has had its effect, and whether somebody was there for the answer.
  void end(const kernel::Notification& call, bool was_done, bool was_answered);

 private:
  struct Entry {
    kernel::Notification call;
    bool was_done = false;  // by this one or an earlier one, and never answered
    bool is_under_way = true;
    Clock::time_point ended{};
  };
  [[nodiscard]] bool is_under_way(pid_t tid) const;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Entry> entries_;  // the oldest first
};

}  // namespace sidecall::worker
