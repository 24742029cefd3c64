// Who sets the clock: capabilities and namespaces of the caller.
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "grid/caller.h"
#include "grid/clock.h"

namespace sidecall::grid {
namespace {

// Natively, too, where nothing is set, as it is refused.
void is_refused(const Checks& check) {
  check.fails("clock_settime", set_realtime(kLater, 0), EPERM);
  check.fails("settimeofday", set_wall_time(kLater, 0), EPERM);
  const struct timezone far { .tz_minuteswest = 901, .tz_dsttime = 0 };
  check.fails("settimeofday of a zone that cannot be", set_time_of_day(nullptr, &far), EPERM);
  check.fails("a time before the start", set_realtime(0, 0), EPERM);
  check.fails("a time that cannot be", set_realtime(kLater, -1), EINVAL);
  timex wishes{};
  wishes.modes = ADJ_TICK;
  check.fails("adjtimex", adjust(&wishes), EPERM);
  check.fails("clock_adjtime", adjust_clock(CLOCK_REALTIME, &wishes), EPERM);
  wishes.modes = ADJ_OFFSET_SINGLESHOT;
  check.fails("adjtime", adjust(&wishes), EPERM);
  wishes.modes = 0;
  check.succeeds("the state of the clock", adjust(&wishes));
}

void is_served(const Checks& check) {
  check.gives("clock_settime", set_realtime(kLater, 0), 0);
  check.gives("settimeofday", set_wall_time(kLater, 0), 0);
  timex wishes{};
  wishes.modes = ADJ_STATUS;
  check.succeeds("adjtimex", adjust(&wishes));
}

constexpr Case kCases[] = {
    {"without CAP_SYS_TIME", Off::kHolds,
     [](const Checks& check) {
       drop_capability(check, CAP_SYS_TIME);
       is_refused(check);
     }},
    {"user without it", Off::kHolds,
     [](const Checks& check) {
       act_as(check, {.uid = 1234, .gid = 1234}, {});
       is_refused(check);
     }},
    {"thread without it", Off::kHolds,
     [](const Checks& check) {
       in_thread([&] {
         drop_capability(check, CAP_SYS_TIME);
         is_refused(check);
       });
     }},
    {"user namespace of the caller's own", Off::kHolds,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWUSER", ::unshare(CLONE_NEWUSER) == 0);
       is_refused(check);
     }},
    {"root", Off::kFails, is_served, Where::kContainerOnly},
    {"user with CAP_SYS_TIME", Off::kFails,
     [](const Checks& check) {
       act_as(check, {.uid = 1234, .gid = 1234}, {CAP_SYS_TIME});
       is_served(check);
     },
     Where::kContainerOnly},
    {"thread", Off::kFails, [](const Checks& check) { in_thread([&] { is_served(check); }); },
     Where::kContainerOnly},
    {"caller that is not dumpable", Off::kFails,
     [](const Checks& check) {
       check.arrange("PR_SET_DUMPABLE", ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
       is_served(check);
     },
     Where::kContainerOnly},
    {"time namespace of the caller's own", Off::kFails,
     [](const Checks& check) {
       constexpr int kNewTime = 0x80;  // CLONE_NEWTIME
       check.arrange("unshare CLONE_NEWTIME", ::unshare(kNewTime) == 0);
       in_child(check, [&] { is_served(check); });
     },
     Where::kContainerOnly},
};

}  // namespace

std::span<const Case> clock_callers() {
  return kCases;
}

}  // namespace sidecall::grid
