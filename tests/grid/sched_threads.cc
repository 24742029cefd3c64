// Whose thread is meant: the caller, another of its process, a child, one that has gone; by the
// numbers of the caller's pid namespace.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <future>
#include <thread>

#include "grid/caller.h"
#include "grid/sched.h"

namespace sidecall::grid {
namespace {

// Each of the calls on the thread, each of which wants a right.
void raise(const Checks& check, pid_t thread, const std::string& whose) {
  check.gives("policy of " + whose, set_policy(thread, SCHED_RR, 2), 0);
  check.gives("parameter of " + whose, set_parameter(thread, 3), 0);
  check.holds("they are set", has_policy(thread, SCHED_RR, 3));
  const Attributes wanted{.policy = SCHED_FIFO, .priority = 4};
  check.gives("attributes of " + whose, set_attributes(thread, &wanted), 0);
  check.holds("they are set", has_policy(thread, SCHED_FIFO, 4));
  check.gives("nice value of " + whose, set_nice(thread, -2), 0);
  check.holds("it is set", has_nice(thread, -2));
  check.gives("i/o of " + whose, set_io_priority(thread, io_priority(kIoRealtime, 2)), 0);
}

void fail_to_raise(const Checks& check, pid_t thread, int error) {
  check.fails("policy", set_policy(thread, SCHED_RR, 2), error);
  check.fails("parameter", set_parameter(thread, 0), error);
  const Attributes wanted{.policy = SCHED_FIFO, .priority = 4};
  check.fails("attributes", set_attributes(thread, &wanted), error);
}

// Runs `act` in a child with a user namespace of its own, whose process it is given from outside.
void with_child_in_user_namespace(const Checks& check, const std::function<void(pid_t)>& act) {
  int ready[2] = {-1, -1};
  check.arrange("pipe", ::pipe(ready) == 0);
  const pid_t child = ::fork();
  check.arrange("fork", child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char good = ::unshare(CLONE_NEWUSER) == 0 ? 1 : 0;
    static_cast<void>(!::write(ready[1], &good, 1));
    for (;;) ::pause();
  }
  char good = 0;
  check.arrange("a user namespace", ::read(ready[0], &good, 1) == 1 && good == 1);
  act(child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

constexpr Case kCases[] = {
    {"caller as 0", Off::kFails, [](const Checks& check) { raise(check, 0, "the caller"); }},
    {"caller by its number", Off::kFails,
     [](const Checks& check) { raise(check, ::gettid(), "the caller"); }},
    {"thread that is not the leader, as 0", Off::kFails,
     [](const Checks& check) {
       in_thread([&] { raise(check, 0, "the thread"); });
       check.holds("the leader is as before", has_policy(0, SCHED_OTHER, 0) && has_nice(0, 0));
     }},
    {"thread that is not the leader, by its number", Off::kFails,
     [](const Checks& check) {
       in_thread([&] { raise(check, ::gettid(), "the thread"); });
       check.holds("the leader is as before", has_policy(0, SCHED_OTHER, 0) && has_nice(0, 0));
     }},
    {"another thread of the process", Off::kFails,
     [](const Checks& check) {
       std::promise<pid_t> number;
       std::promise<void> done;
       std::thread other([&] {
         number.set_value(::gettid());
         done.get_future().wait();
       });
       raise(check, number.get_future().get(), "the other");
       check.holds("the caller is as before", has_policy(0, SCHED_OTHER, 0));
       done.set_value();
       other.join();
     }},
    {"leader, by another thread", Off::kFails,
     [](const Checks& check) {
       const pid_t leader = ::getpid();
       in_thread([&] {
         raise(check, leader, "the leader");
         check.holds("the thread is as before", has_policy(0, SCHED_OTHER, 0));
       });
     }},
    {"child", Off::kFails,
     [](const Checks& check) {
       with_child(check, [&](pid_t child) { raise(check, child, "the child"); });
     }},
    {"parent", Off::kFails,
     [](const Checks& check) {
       const pid_t parent = ::getpid();
       in_child(check, [&] { raise(check, parent, "the parent"); });
     }},
    {"child that has ended and was not waited for", Off::kFails,
     [](const Checks& check) {
       const pid_t child = ::fork();
       check.arrange("fork", child >= 0);
       if (child == 0) ::_exit(0);
       siginfo_t info{};
       check.arrange("its end",
                     ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
       check.gives("policy", set_policy(child, SCHED_RR, 2), 0);
       check.gives("nice value", set_nice(child, -2), 0);
     }},
    {"child that has gone", Off::kHolds,
     [](const Checks& check) {
       const pid_t child = ::fork();
       check.arrange("fork", child >= 0);
       if (child == 0) ::_exit(0);
       check.arrange("its end", ::waitpid(child, nullptr, 0) == child);
       fail_to_raise(check, child, ESRCH);
       check.fails("nice value", set_nice(child, -1), ESRCH);
     }},
    {"numbers of no thread", Off::kHolds,
     [](const Checks& check) {
       for (const pid_t thread : {999'999, INT_MAX}) fail_to_raise(check, thread, ESRCH);
       for (const pid_t thread : {-1, INT_MIN}) fail_to_raise(check, thread, EINVAL);
     }},
    {"no thread before what it is to get", Off::kHolds,
     [](const Checks& check) {
       check.fails("an unknown policy", set_policy(999'999, 77, 1), ESRCH);
       check.fails("no such priority", set_policy(999'999, SCHED_RR, 100), ESRCH);
       check.fails("a negative policy", set_policy(999'999, -1, 1), EINVAL);
       const Attributes wanted{.policy = 77};
       check.fails("unknown attributes", set_attributes(999'999, &wanted), ESRCH);
     }},
    {"number in a pid namespace of the caller's own", Off::kFails,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWPID", ::unshare(CLONE_NEWPID) == 0);
       in_child(check, [&] {
         check.arrange("process 1", ::getpid() == 1);
         raise(check, 1, "process 1");
         with_child(check, [&](pid_t child) {
           check.arrange("process 2", child == 2);
           raise(check, child, "process 2");
         });
         fail_to_raise(check, 3, ESRCH);
       });
       check.holds("the parent is as before", has_policy(0, SCHED_OTHER, 0));
     }},
    {"child in a pid namespace of its own", Off::kFails,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWPID", ::unshare(CLONE_NEWPID) == 0);
       with_child(check, [&](pid_t child) { raise(check, child, "the child"); });
     }},
    // Threads of the sandbox's own user namespace alone are served.
    {"child in a user namespace of its own", Off::kLimit,
     [](const Checks& check) {
       with_child_in_user_namespace(
           check, [&](pid_t child) { check.gives("policy", set_policy(child, SCHED_RR, 2), 0); });
     }},
    {"threads that raise themselves at once", Off::kFails,
     [](const Checks& check) {
       std::thread threads[8];
       int priority = 0;
       for (std::thread& thread : threads) {
         thread = std::thread([&check, wanted = ++priority] {
           for (int count = 0; count < 20; ++count) {
             check.gives("policy", set_policy(0, SCHED_RR, wanted), 0);
             check.holds("it is the thread's", has_policy(0, SCHED_RR, wanted));
           }
         });
       }
       for (std::thread& thread : threads) thread.join();
       check.holds("the first thread is as before", has_policy(0, SCHED_OTHER, 0));
     }},
};

}  // namespace

std::span<const Case> sched_threads() {
  return kCases;
}

}  // namespace sidecall::grid
