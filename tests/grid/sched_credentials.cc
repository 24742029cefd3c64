// Who asks: capabilities, ids and user namespaces of the caller, and of whom it means.
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "grid/caller.h"
#include "grid/sched.h"

namespace sidecall::grid {
namespace {

// Mapped in a container of 65,536 ids.
constexpr uid_t kUser = 1234;

// All ids become the user's, and of the capabilities those given stay effective.
void become_user(const Checks& check, std::initializer_list<int> capabilities) {
  check.arrange("PR_SET_KEEPCAPS", ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0);
  check.arrange("setresuid", ::setresuid(kUser, kUser, kUser) == 0);
  check.arrange("PR_SET_DUMPABLE", ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
  keep_capabilities(check, capabilities);
}

// Runs `act` with the number of a child whose ids are the user's.
void with_child_of_user(const Checks& check, const std::function<void(pid_t)>& act) {
  int ready[2] = {-1, -1};
  check.arrange("pipe", ::pipe(ready) == 0);
  const pid_t child = ::fork();
  check.arrange("fork", child >= 0);
  if (child == 0) {
    become_user(check, {});
    static_cast<void>(!::write(ready[1], "", 1));
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  char byte = 0;
  check.arrange("the child's ids", ::read(ready[0], &byte, 1) == 1);
  act(child);
  ::kill(child, SIGKILL);
}

void is_refused(const Checks& check, pid_t thread = 0) {
  check.fails("FIFO", set_policy(thread, SCHED_FIFO, 1), EPERM);
  check.fails("RR with reset on fork", set_policy(thread, SCHED_RR | SCHED_RESET_ON_FORK, 1),
              EPERM);
  Attributes wanted{.policy = SCHED_FIFO, .priority = 1};
  check.fails("attributes", set_attributes(thread, &wanted), EPERM);
  wanted = {.policy = SCHED_OTHER, .nice = -1};
  check.fails("attributes with a nice value", set_attributes(thread, &wanted), EPERM);
  check.fails("real-time i/o", set_io_priority(thread, io_priority(kIoRealtime, 1)), EPERM);
}

constexpr Case kCases[] = {
    {"without CAP_SYS_NICE", Off::kHolds,
     [](const Checks& check) {
       drop_capability(check, CAP_SYS_NICE);
       // Which is enough for i/o, on the host alone.
       drop_capability(check, CAP_SYS_ADMIN);
       is_refused(check);
       check.fails("a nice value", set_nice(0, -1), EACCES);
       check.gives("a lower one", set_nice(0, 5), 0);
       check.fails("back", set_nice(0, 0), EACCES);
       check.fails("an unknown policy", set_policy(0, 77, 1), EINVAL);
       check.fails("no such priority", set_policy(0, SCHED_RR, 100), EINVAL);
       check.fails("no parameter", ::syscall(SYS_sched_setscheduler, 0, SCHED_RR, nullptr), EINVAL);
       check.fails("no thread", set_policy(999'999, SCHED_RR, 1), ESRCH);
       check.gives("an ordinary policy", set_policy(0, SCHED_BATCH, 0), 0);
     }},
    {"CAP_SYS_NICE given back", Off::kFails,
     [](const Checks& check) {
       keep_capabilities(check, {});
       check.fails("without it", set_policy(0, SCHED_RR, 1), EPERM);
       keep_capabilities(check, {CAP_SYS_NICE});
       check.gives("with it", set_policy(0, SCHED_RR, 1), 0);
     }},
    {"CAP_SYS_NICE of one thread", Off::kFails,
     [](const Checks& check) {
       in_thread([&] {
         drop_capability(check, CAP_SYS_NICE);
         check.fails("the thread without it", set_policy(0, SCHED_RR, 1), EPERM);
       });
       check.gives("the thread with it", set_policy(0, SCHED_RR, 1), 0);
     }},
    {"lower without CAP_SYS_NICE", Off::kFails,
     [](const Checks& check) {
       check.gives("RR", set_policy(0, SCHED_RR, 9), 0);
       drop_capability(check, CAP_SYS_NICE);
       check.gives("a lower priority", set_policy(0, SCHED_RR, 8), 0);
       check.gives("by its parameter", set_parameter(0, 7), 0);
       check.fails("a higher one", set_parameter(0, 8), EPERM);
       check.fails("the other policy", set_policy(0, SCHED_FIFO, 7), EPERM);
       check.gives("an ordinary policy", set_policy(0, SCHED_OTHER, 0), 0);
     }},
    {"user with CAP_SYS_NICE", Off::kFails,
     [](const Checks& check) {
       become_user(check, {CAP_SYS_NICE});
       check.gives("FIFO", set_policy(0, SCHED_FIFO, 1), 0);
       check.gives("a nice value", set_nice(0, -1), 0);
     }},
    {"user without it", Off::kHolds,
     [](const Checks& check) {
       become_user(check, {});
       is_refused(check);
       check.fails("a nice value", set_nice(0, -1), EACCES);
     }},
    {"user without it, for another's process", Off::kHolds,
     [](const Checks& check) {
       const pid_t roots = ::getpid();
       in_child(check, [&] {
         become_user(check, {});
         is_refused(check, roots);
         check.fails("a nice value", set_nice(roots, -1), EPERM);
         check.fails("a lower one", set_nice(roots, 1), EPERM);
         check.fails("an ordinary policy", set_policy(roots, SCHED_OTHER, 0), EPERM);
       });
     }},
    {"root for a user's process", Off::kFails,
     [](const Checks& check) {
       with_child_of_user(check, [&](pid_t child) {
         check.gives("RR", set_policy(child, SCHED_RR, 1), 0);
         check.gives("its parameter", set_parameter(child, 2), 0);
         check.gives("a nice value", set_nice(child, -1), 0);
         check.gives("best effort", set_io_priority(child, io_priority(kIoBestEffort, 0)), 0);
         const Attributes wanted{.policy = SCHED_BATCH, .nice = 1};
         check.gives("attributes", set_attributes(child, &wanted), 0);
       });
     }},
    // The emulator takes it that every policy may be left for an ordinary one by anybody.
    {"root for a user's process, an ordinary policy", Off::kFails,
     [](const Checks& check) {
       with_child_of_user(check, [&](pid_t child) {
         check.gives("the call", set_policy(child, SCHED_BATCH, 0), 0);
       });
     }},
    {"caller that is not dumpable", Off::kFails,
     [](const Checks& check) {
       check.arrange("PR_SET_DUMPABLE", ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
       check.gives("RR", set_policy(0, SCHED_RR, 1), 0);
     }},
    {"caller without new privileges", Off::kFails,
     [](const Checks& check) {
       check.arrange("PR_SET_NO_NEW_PRIVS", ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
       check.gives("RR", set_policy(0, SCHED_RR, 1), 0);
     }},
    {"user namespace of the caller's own", Off::kHolds,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWUSER", ::unshare(CLONE_NEWUSER) == 0);
       is_refused(check);
       check.fails("a nice value", set_nice(0, -1), EACCES);
     }},
};

}  // namespace

std::span<const Case> sched_credentials() {
  return kCases;
}

}  // namespace sidecall::grid
