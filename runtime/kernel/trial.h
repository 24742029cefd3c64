// A child process with one notified system call: for trying what the kernel can do, and for tests.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::kernel {

// Owns the child: it is killed and reaped at the end.
class Trial {
 public:
  // Forks. The child installs a filter that notifies call `nr` of the native ABI and allows all
  // else, hands its listener over, then runs `body` and exits with what that returns.
  // `filter_flags` are SECCOMP_FILTER_FLAG_* beyond NEW_LISTENER. The filter is set up as root, or
  // with no_new_privs.
  [[nodiscard]] static Result<Trial> start(long nr, const std::function<int()>& body,
                                           unsigned long filter_flags = 0);
  Trial(Trial&& other) noexcept;
  Trial& operator=(Trial&& other) noexcept;
  ~Trial();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] UniqueFd take_listener() { return std::move(listener_); }
  // Waits for the child's end: its exit status, or 128 + the signal that ended it.
  [[nodiscard]] int wait();
  // SIGKILL; its end still has to be waited for.
  void kill() const;

 private:
  Trial(pid_t pid, UniqueFd listener) : pid_(pid), listener_(std::move(listener)) {}
  pid_t pid_ = -1;
  UniqueFd listener_;
};

// Installs such a filter on the calling thread and gives its listener.
[[nodiscard]] Result<UniqueFd> install_notify_filter(long nr, unsigned long filter_flags = 0);

}  // namespace sidecall::kernel
