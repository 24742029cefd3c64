// A process that waits behind a seccomp filter until it may run its command.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/filter.h"

namespace sidecall::cli {

// Why a command did not start: the errno of execve(2).
struct ExecFailure {
  Errno number;
};

// Owns the process until it is released: destroyed before that, it is killed and reaped. From then
// on its parent reaps it. It dies with the thread that started it (PR_SET_PDEATHSIG).
class FilteredChild {
 public:
  // Forks, so the caller must have one thread. The child makes no call under the filter but
  // sendmsg, close and read until it is released: calls that compile_profile() never traps. `mask`
  // is the signal mask that the command gets.
  [[nodiscard]] static Result<FilteredChild> start(Filter& filter, std::vector<std::string> command,
                                                   const sigset_t& mask);
  FilteredChild(FilteredChild&& other) noexcept;
  FilteredChild& operator=(FilteredChild&&) = delete;
  ~FilteredChild();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int listener() const { return listener_.get(); }

  // Lets the command start, and waits until it has: its listener must be served by now.
  [[nodiscard]] tl::expected<void, ExecFailure> release();

 private:
  FilteredChild(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  [[nodiscard]] Result<void> receive_listener();

  pid_t pid_ = -1;
  UniqueFd socket_;
  UniqueFd listener_;
  bool is_released_ = false;
};

}  // namespace sidecall::cli
