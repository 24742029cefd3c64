// Scheduling policies and their priorities, by each of the calls that set them.
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "grid/caller.h"
#include "grid/sched.h"

namespace sidecall::grid {
namespace {

constexpr int kDeadline = 6;  // SCHED_DEADLINE
constexpr int kUnknown[] = {4, 8, 77, 0xffff, INT_MAX & ~SCHED_RESET_ON_FORK};
constexpr int kRealTime[] = {SCHED_FIFO, SCHED_RR};
constexpr int kOrdinary[] = {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE};

void set_each_priority(const Checks& check, int policy) {
  for (int priority = 1; priority <= kMostPriority; ++priority) {
    const std::string what = "priority " + std::to_string(priority);
    check.gives(what, set_policy(0, policy, priority), 0);
    check.holds(what + " is set", has_policy(0, policy, priority));
  }
}

constexpr Case kCases[] = {
    {"FIFO at each priority", Off::kFails,
     [](const Checks& check) { set_each_priority(check, SCHED_FIFO); }},
    {"RR at each priority", Off::kFails,
     [](const Checks& check) { set_each_priority(check, SCHED_RR); }},
    {"real-time policies with reset on fork", Off::kFails,
     [](const Checks& check) {
       for (const int policy : kRealTime) {
         check.gives("the call", set_policy(0, policy | SCHED_RESET_ON_FORK, 3), 0);
         check.holds("it is set", has_policy(0, policy | SCHED_RESET_ON_FORK, 3));
       }
       with_child(check, [&](pid_t child) {
         check.holds("a child has an ordinary one", has_policy(child, SCHED_OTHER, 0));
       });
     }},
    {"real-time policy that a child inherits", Off::kFails,
     [](const Checks& check) {
       check.gives("the call", set_policy(0, SCHED_RR, 3), 0);
       with_child(check, [&](pid_t child) {
         check.holds("a child has it", has_policy(child, SCHED_RR, 3));
       });
     }},
    {"from one real-time policy to the other and back", Off::kFails,
     [](const Checks& check) {
       check.gives("FIFO", set_policy(0, SCHED_FIFO, 5), 0);
       check.gives("RR", set_policy(0, SCHED_RR, 2), 0);
       check.gives("a lower priority", set_policy(0, SCHED_RR, 1), 0);
       check.gives("a higher one", set_policy(0, SCHED_RR, 9), 0);
       check.gives("an ordinary policy", set_policy(0, SCHED_OTHER, 0), 0);
       check.holds("it is set", has_policy(0, SCHED_OTHER, 0));
     }},
    {"nice value that comes back after a real-time policy", Off::kFails,
     [](const Checks& check) {
       check.gives("nice", set_nice(0, 7), 0);
       check.gives("FIFO", set_policy(0, SCHED_FIFO, 1), 0);
       check.gives("another priority", set_parameter(0, 2), 0);
       check.gives("an ordinary policy", set_policy(0, SCHED_OTHER, 0), 0);
       check.holds("it is 7", has_nice(0, 7));
     }},
    {"ordinary policies", Off::kHolds,
     [](const Checks& check) {
       for (const int policy : kOrdinary) {
         check.gives("the call", set_policy(0, policy, 0), 0);
         check.holds("it is set", has_policy(0, policy, 0));
         check.gives("its parameter", set_parameter(0, 0), 0);
         check.holds("it is as before", has_policy(0, policy, 0));
       }
     }},
    // The emulator takes it that every thread may leave a policy for an ordinary one.
    {"out of SCHED_IDLE", Off::kFails,
     [](const Checks& check) {
       check.gives("into it", set_policy(0, SCHED_IDLE, 0), 0);
       check.gives("out of it", set_policy(0, SCHED_OTHER, 0), 0);
     }},
    {"out of reset on fork", Off::kFails,
     [](const Checks& check) {
       check.gives("into it", set_policy(0, SCHED_OTHER | SCHED_RESET_ON_FORK, 0), 0);
       check.gives("out of it", set_policy(0, SCHED_OTHER, 0), 0);
     }},
    {"policies that the kernel does not know", Off::kHolds,
     [](const Checks& check) {
       for (const int policy : kUnknown) {
         check.fails("policy " + std::to_string(policy), set_policy(0, policy, 1), EINVAL);
         check.fails("with reset on fork", set_policy(0, policy | SCHED_RESET_ON_FORK, 1), EINVAL);
       }
       check.fails("policy -1", set_policy(0, -1, 1), EINVAL);
       check.fails("the lowest number", set_policy(0, INT_MIN, 1), EINVAL);
       check.fails("deadline without times", set_policy(0, kDeadline, 0), EINVAL);
     }},
    {"priorities that a policy does not have", Off::kHolds,
     [](const Checks& check) {
       for (const int policy : kRealTime) {
         for (const int priority : {0, 100, 1000, -1, INT_MAX, INT_MIN}) {
           check.fails("real-time, " + std::to_string(priority), set_policy(0, policy, priority),
                       EINVAL);
         }
       }
       for (const int policy : kOrdinary) {
         for (const int priority : {1, 99, -1, INT_MAX, INT_MIN}) {
           check.fails("ordinary, " + std::to_string(priority), set_policy(0, policy, priority),
                       EINVAL);
           check.fails("by sched_setparam", set_parameter(0, priority), EINVAL);
         }
       }
     }},
    {"priorities that a real-time policy does not have, by sched_setparam", Off::kFails,
     [](const Checks& check) {
       check.gives("RR", set_policy(0, SCHED_RR, 1), 0);
       for (const int priority : {0, 100, -1, INT_MAX, INT_MIN}) {
         check.fails("priority " + std::to_string(priority), set_parameter(0, priority), EINVAL);
       }
       check.holds("it is as before", has_policy(0, SCHED_RR, 1));
     }},
    {"sched_setparam", Off::kFails,
     [](const Checks& check) {
       check.gives("RR", set_policy(0, SCHED_RR | SCHED_RESET_ON_FORK, 1), 0);
       check.gives("a higher priority", set_parameter(0, 6), 0);
       check.holds("policy and flag stay", has_policy(0, SCHED_RR | SCHED_RESET_ON_FORK, 6));
       check.gives("a lower one", set_parameter(0, 2), 0);
     }},
    {"sched_setattr of a real-time policy", Off::kFails,
     [](const Checks& check) {
       for (const int policy : kRealTime) {
         const Attributes wanted{.policy = static_cast<unsigned>(policy), .priority = 4};
         check.gives("the call", set_attributes(0, &wanted), 0);
         check.holds("it is set", has_policy(0, policy, 4));
       }
       const Attributes wanted{.policy = SCHED_FIFO, .flags = kResetOnFork, .priority = 5};
       check.gives("with reset on fork", set_attributes(0, &wanted), 0);
       check.holds("it is set", has_policy(0, SCHED_FIFO | SCHED_RESET_ON_FORK, 5));
     }},
    {"sched_setattr of a nice value", Off::kFails,
     [](const Checks& check) {
       for (const int policy : {SCHED_OTHER, SCHED_BATCH}) {
         const Attributes wanted{.policy = static_cast<unsigned>(policy), .nice = kLeastNice};
         check.gives("the call", set_attributes(0, &wanted), 0);
         check.holds("it is set", has_nice(0, kLeastNice));
       }
     }},
    {"sched_setattr of what anybody may", Off::kHolds,
     [](const Checks& check) {
       const Attributes beyond{.policy = SCHED_BATCH, .nice = 1000};
       for (const int policy : kOrdinary) {
         const Attributes wanted{.policy = static_cast<unsigned>(policy), .nice = 5};
         in_thread([&] {
           check.gives("the call", set_attributes(0, &wanted), 0);
           check.holds("it is set", has_policy(0, policy, 0));
           // Which SCHED_IDLE takes no notice of.
           check.holds("so is its nice value", has_nice(0, policy == SCHED_IDLE ? 0 : 5));
         });
       }
       check.gives("a nice value that is too high", set_attributes(0, &beyond), 0);
       check.holds("it is the highest", has_nice(0, 19));
     }},
    {"sched_setattr of what there is not", Off::kHolds,
     [](const Checks& check) {
       Attributes wanted{.policy = 77};
       check.fails("an unknown policy", set_attributes(0, &wanted), EINVAL);
       wanted.policy = static_cast<unsigned>(-1);
       check.fails("a negative one", set_attributes(0, &wanted), EINVAL);
       for (const unsigned priority : {0U, 100U, ~0U}) {
         wanted = {.policy = SCHED_FIFO, .priority = priority};
         check.fails("FIFO, " + std::to_string(priority), set_attributes(0, &wanted), EINVAL);
       }
       wanted = {.policy = SCHED_OTHER, .priority = 1};
       check.fails("ordinary, 1", set_attributes(0, &wanted), EINVAL);
       wanted = {.policy = SCHED_FIFO, .flags = 1ULL << 40U, .priority = 1};
       check.fails("an unknown flag", set_attributes(0, &wanted), EINVAL);
       wanted.flags = 0;
       check.fails("an argument of flags", set_attributes(0, &wanted, 1), EINVAL);
       check.fails("another", set_attributes(0, &wanted, 1U << 31U), EINVAL);
     }},
    // Neither flag is served.
    {"sched_setattr that keeps policy or parameters", Off::kLimit,
     [](const Checks& check) {
       check.gives("RR", set_policy(0, SCHED_RR, 1), 0);
       Attributes wanted{.flags = kKeepPolicy, .priority = 7};
       check.gives("keeping the policy", set_attributes(0, &wanted), 0);
       check.holds("the priority is set", has_policy(0, SCHED_RR, 7));
       wanted = {.policy = SCHED_RR, .flags = kKeepParameters};
       check.gives("keeping the parameters", set_attributes(0, &wanted), 0);
       check.holds("they are as before", has_policy(0, SCHED_RR, 7));
     }},
    {"registers with garbage in their upper halves", Off::kFails,
     [](const Checks& check) {
       // No upper halves where a long has 32 bits.
       const auto garbage = static_cast<unsigned long>(0xdeadbeefULL << 32U);
       const sched_param parameter{.sched_priority = 3};
       check.gives("sched_setscheduler",
                   ::syscall(SYS_sched_setscheduler, garbage, garbage | SCHED_RR, &parameter), 0);
       check.gives("sched_setparam", ::syscall(SYS_sched_setparam, garbage, &parameter), 0);
       const Attributes wanted{.policy = SCHED_FIFO, .priority = 3};
       check.gives("sched_setattr", ::syscall(SYS_sched_setattr, garbage, &wanted, garbage), 0);
       check.holds("it is set", has_policy(0, SCHED_FIFO, 3));
     }},
    {"above the ceiling", Off::kHolds,
     [](const Checks& check) {
       for (const int policy : kRealTime) {
         for (const int priority : {kMostPriority + 1, 99}) {
           check.fails("sched_setscheduler", set_policy(0, policy, priority), EPERM);
           const Attributes wanted{.policy = static_cast<unsigned>(policy),
                                   .priority = static_cast<unsigned>(priority)};
           check.fails("sched_setattr", set_attributes(0, &wanted), EPERM);
         }
       }
       check.holds("nothing was set", has_policy(0, SCHED_OTHER, 0));
     },
     Where::kContainerOnly},
    {"above the ceiling, by sched_setparam", Off::kFails,
     [](const Checks& check) {
       check.gives("RR", set_policy(0, SCHED_RR, kMostPriority), 0);
       check.fails("one more", set_parameter(0, kMostPriority + 1), EPERM);
       check.holds("it is as before", has_policy(0, SCHED_RR, kMostPriority));
     },
     Where::kContainerOnly},
    {"what the ceiling withholds", Off::kHolds,
     [](const Checks& check) {
       check.gives("FIFO", set_policy(0, SCHED_FIFO, 99), 0);
       check.gives("nice", set_nice(0, -20), 0);
     },
     Where::kNativeOnly},
};

}  // namespace

std::span<const Case> sched_policies() {
  return kCases;
}

}  // namespace sidecall::grid
