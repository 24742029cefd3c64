#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "grid/sched.h"

namespace sidecall::grid {
namespace {

constexpr int kIoPriorityWhoProcess = 1;
constexpr unsigned kIoClassShift = 13;

}  // namespace

Grid grid() {
  return {.name = "sched",
          .policy = R"({"rules": [{"emulate": "sched", "options": {
                       "policies": ["fifo", "rr"], "max_priority": 20,
                       "min_nice": -10, "realtime_io": true}}]})",
          .themes = {{"policies", sched_policies()},
                     {"nice and i/o", sched_priorities()},
                     {"threads", sched_threads()},
                     {"credentials", sched_credentials()},
                     {"memory", sched_memory()}}};
}

unsigned io_priority(unsigned io_class, unsigned level) {
  return io_class << kIoClassShift | level;
}

long set_policy(pid_t thread, int policy, int priority) {
  const sched_param parameter{.sched_priority = priority};
  return ::syscall(SYS_sched_setscheduler, thread, policy, &parameter);
}

long set_parameter(pid_t thread, int priority) {
  const sched_param parameter{.sched_priority = priority};
  return ::syscall(SYS_sched_setparam, thread, &parameter);
}

long set_attributes(pid_t thread, const void* attributes, unsigned flags) {
  return ::syscall(SYS_sched_setattr, thread, attributes, flags);
}

long set_nice(pid_t process, int nice) {
  return ::syscall(SYS_setpriority, PRIO_PROCESS, process, nice);
}

long set_io_priority(pid_t process, unsigned priority) {
  return ::syscall(SYS_ioprio_set, kIoPriorityWhoProcess, process, priority);
}

bool has_policy(pid_t thread, int policy, int priority) {
  sched_param parameter{};
  return ::syscall(SYS_sched_getscheduler, thread) == policy &&
         ::syscall(SYS_sched_getparam, thread, &parameter) == 0 &&
         parameter.sched_priority == priority;
}

bool has_nice(pid_t thread, int nice) {
  // The bare call gives 20 - nice, so that it is never negative.
  return ::syscall(SYS_getpriority, PRIO_PROCESS, thread) == 20 - nice;
}

void with_child(const Checks& check, const std::function<void(pid_t)>& act) {
  const pid_t child = ::fork();
  check.arrange("fork", child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  act(child);
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace sidecall::grid
