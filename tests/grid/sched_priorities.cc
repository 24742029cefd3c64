// Nice values and classes of i/o, of one process, of several and of what there is not.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "grid/caller.h"
#include "grid/sched.h"

namespace sidecall::grid {
namespace {

constexpr unsigned kLevels = 8;

long io_priority_of(pid_t process) {
  return ::syscall(SYS_ioprio_get, 1, process);
}

void set_io(const Checks& check, unsigned io_class, unsigned level) {
  const unsigned wanted = io_priority(io_class, level);
  const std::string what = "class " + std::to_string(io_class) + ", " + std::to_string(level);
  check.gives(what, set_io_priority(0, wanted), 0);
  check.gives(what + " is set", io_priority_of(0), static_cast<long>(wanted));
}

constexpr Case kCases[] = {
    {"each nice value down to the ceiling", Off::kFails,
     [](const Checks& check) {
       for (int nice = 19; nice >= kLeastNice; --nice) {
         check.gives("nice " + std::to_string(nice), set_nice(0, nice), 0);
         check.holds(std::to_string(nice) + " is set", has_nice(0, nice));
       }
     }},
    {"nice values that anybody may take", Off::kHolds,
     [](const Checks& check) {
       for (const int nice : {0, 1, 5, 19, 20, 1000, INT_MAX}) {
         check.gives("nice " + std::to_string(nice), set_nice(0, nice), 0);
         check.holds("it is set", has_nice(0, nice < 19 ? nice : 19));
       }
     }},
    {"nice values below the ceiling", Off::kHolds,
     [](const Checks& check) {
       for (const int nice : {kLeastNice - 1, -20, -21, -1000, INT_MIN}) {
         check.fails("nice " + std::to_string(nice), set_nice(0, nice), EACCES);
       }
       check.holds("it is as before", has_nice(0, 0));
     },
     Where::kContainerOnly},
    {"nice value of a thread of a real-time policy", Off::kFails,
     [](const Checks& check) {
       check.gives("RR", set_policy(0, SCHED_RR, 1), 0);
       check.gives("nice", set_nice(0, -3), 0);
       check.holds("it is noted", has_nice(0, -3));
       check.holds("the policy stays", has_policy(0, SCHED_RR, 1));
     }},
    {"setpriority of a whole group or user", Off::kHolds,
     [](const Checks& check) {
       check.arrange("a group of its own", ::setpgid(0, 0) == 0);
       check.gives("of the group", ::syscall(SYS_setpriority, PRIO_PGRP, 0, 3), 0);
       check.holds("it is set", has_nice(0, 3));
       check.fails("of no group", ::syscall(SYS_setpriority, PRIO_PGRP, 999'999, 3), ESRCH);
       check.fails("of a user of no process", ::syscall(SYS_setpriority, PRIO_USER, 54'321, 3),
                   ESRCH);
     }},
    {"setpriority of a whole group, raised", Off::kLimit,
     [](const Checks& check) {
       check.arrange("a group of its own", ::setpgid(0, 0) == 0);
       check.gives("of the group", ::syscall(SYS_setpriority, PRIO_PGRP, 0, -3), 0);
     }},
    {"setpriority of what there is not", Off::kHolds,
     [](const Checks& check) {
       for (const int which : {3, -1, INT_MAX, INT_MIN}) {
         check.fails("which " + std::to_string(which), ::syscall(SYS_setpriority, which, 0, 0),
                     EINVAL);
       }
       check.fails("no process", set_nice(999'999, -1), ESRCH);
       check.fails("a negative one", set_nice(-1, -1), ESRCH);
       check.fails("the lowest number", set_nice(INT_MIN, 5), ESRCH);
     }},
    {"garbage in the upper halves", Off::kFails,
     [](const Checks& check) {
       // No upper halves where a long has 32 bits.
       const auto garbage = static_cast<unsigned long>(0xdeadbeefULL << 32U);
       const auto nice = garbage | static_cast<std::uint32_t>(-2);
       check.gives("setpriority", ::syscall(SYS_setpriority, garbage | PRIO_PROCESS, garbage, nice),
                   0);
       check.holds("it is set", has_nice(0, -2));
       check.gives(
           "ioprio_set",
           ::syscall(SYS_ioprio_set, garbage | 1U, garbage, garbage | io_priority(kIoRealtime, 1)),
           0);
     }},
    {"i/o, the real-time class", Off::kFails,
     [](const Checks& check) {
       for (unsigned level = 0; level < kLevels; ++level) set_io(check, kIoRealtime, level);
     }},
    {"i/o, the other classes", Off::kHolds,
     [](const Checks& check) {
       for (unsigned level = 0; level < kLevels; ++level) set_io(check, kIoBestEffort, level);
       set_io(check, kIoIdle, 0);
       check.gives("no class", set_io_priority(0, io_priority(kIoNone, 0)), 0);
     }},
    {"i/o, what there is not", Off::kHolds,
     [](const Checks& check) {
       check.fails("a level without a class", set_io_priority(0, io_priority(kIoNone, 1)), EINVAL);
       for (const unsigned io_class : {4U, 6U, 7U}) {
         check.fails("class " + std::to_string(io_class),
                     set_io_priority(0, io_priority(io_class, 0)), EINVAL);
       }
       const unsigned wanted = io_priority(kIoBestEffort, 4);
       for (const int which : {0, 4, -1, INT_MAX}) {
         check.fails("which " + std::to_string(which), ::syscall(SYS_ioprio_set, which, 0, wanted),
                     EINVAL);
       }
       check.fails("no process", set_io_priority(999'999, wanted), ESRCH);
       check.fails("a negative one", set_io_priority(-1, wanted), ESRCH);
     }},
    {"i/o, the real-time class of no process", Off::kFails,
     [](const Checks& check) {
       // The kernel asks for the right first.
       const unsigned wanted = io_priority(kIoRealtime, 4);
       check.fails("no process", set_io_priority(999'999, wanted), ESRCH);
     }},
    {"i/o of a whole group or user", Off::kHolds,
     [](const Checks& check) {
       check.arrange("a group of its own", ::setpgid(0, 0) == 0);
       const unsigned wanted = io_priority(kIoBestEffort, 4);
       check.gives("of the group", ::syscall(SYS_ioprio_set, 2, 0, wanted), 0);
       check.gives("it is set", io_priority_of(0), static_cast<long>(wanted));
     }},
    {"i/o of a whole group, the real-time class", Off::kLimit,
     [](const Checks& check) {
       check.arrange("a group of its own", ::setpgid(0, 0) == 0);
       check.gives("of the group", ::syscall(SYS_ioprio_set, 2, 0, io_priority(kIoRealtime, 4)), 0);
     }},
};

}  // namespace

std::span<const Case> sched_priorities() {
  return kCases;
}

}  // namespace sidecall::grid
