// Scheduling of a sandbox's threads, set with the host's rights.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/function_ref.h"
#include "base/result.h"
#include "kernel/thread_directory.h"

namespace sidecall::kernel {

// struct sched_attr of sched(7), as far as it is used here.
struct Schedule {
  std::uint32_t policy = 0;  // SCHED_*
  bool reset_on_fork = false;
  std::int32_t nice = 0;       // of SCHED_OTHER and SCHED_BATCH
  std::uint32_t priority = 0;  // of SCHED_FIFO and SCHED_RR
};

// Acts on threads of the sandbox by number. The system calls know no other way, so the thread is
// pinned first, found to be in the sandbox's user namespace, and found alive once more afterwards:
// its number then was its own throughout. Where it has died in between, and a stranger has the
// number by then, the stranger gets back what its parent has.
class HostSchedule {
 public:
  // `proc`: a descriptor on /proc. `user_namespace`: one on the sandbox's. Both stay the caller's.
  HostSchedule(int proc, int user_namespace) : proc_(proc), user_namespace_(user_namespace) {}

  // sched_setattr(2). ESRCH where there is no such thread, EPERM where it is not the sandbox's.
  [[nodiscard]] SysResult<void> set(pid_t thread, const Schedule& wanted) const;
  // setpriority(2) of PRIO_PROCESS.
  [[nodiscard]] SysResult<void> set_nice(pid_t thread, int nice) const;
  // ioprio_set(2) of IOPRIO_WHO_PROCESS.
  [[nodiscard]] SysResult<void> set_io_priority(pid_t thread, int priority) const;
  // sched_getattr(2).
  [[nodiscard]] static SysResult<Schedule> get(pid_t thread);

 private:
  // `act` gives an errno, or 0.
  [[nodiscard]] SysResult<void> on(pid_t thread, FunctionRef<int()> act) const;
  [[nodiscard]] SysResult<bool> is_ours(const ThreadDirectory& directory) const;
  void restore_stranger(pid_t thread) const;

  int proc_;
  int user_namespace_;
};

}  // namespace sidecall::kernel
