// Setting the clock where that is performed: on the host's own, natively and in the container. So a
// case sets it only to what it is, and changes no more than the moment that takes.
#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

#include <ctime>
#include <string>

#include "grid/caller.h"

namespace sidecall::grid {
namespace {

long set_realtime(const timespec& time) {
  return ::syscall(SYS_clock_settime, CLOCK_REALTIME, &time);
}

timespec now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

timex state_of(const Checks& check) {
  timex state{};
  check.succeeds("reading the clock's state", ::syscall(SYS_adjtimex, &state));
  return state;
}

// Wishes for what is the case.
timex same(const timex& state, unsigned modes) {
  timex wishes{};
  wishes.modes = modes;
  wishes.status = state.status;
  wishes.tick = state.tick;
  wishes.freq = state.freq;
  wishes.tai = state.tai;
  wishes.constant = state.tai;  // where ADJ_TAI takes it from
  wishes.maxerror = state.maxerror;
  wishes.esterror = state.esterror;
  return wishes;
}

void is_served(const Checks& check) {
  check.gives("clock_settime", set_realtime(now()), 0);
  timeval time{};
  check.arrange("gettimeofday", ::gettimeofday(&time, nullptr) == 0);
  check.gives("settimeofday", ::syscall(SYS_settimeofday, &time, nullptr), 0);
  const timex state = state_of(check);
  for (const int mode : {ADJ_STATUS, ADJ_TICK, ADJ_FREQUENCY, ADJ_TAI}) {
    const std::string what = "mode " + std::to_string(mode);
    timex wishes = same(state, static_cast<unsigned>(mode));
    check.succeeds(what, ::syscall(SYS_adjtimex, &wishes));
    wishes = same(state, static_cast<unsigned>(mode));
    check.succeeds(what + ", by clock_adjtime",
                   ::syscall(SYS_clock_adjtime, CLOCK_REALTIME, &wishes));
    check.holds(what + ": the answer is the host's",
                wishes.tick == state.tick && wishes.tai == state.tai);
  }
  const timex after = state_of(check);
  check.holds("all is as before",
              after.tick == state.tick && after.freq == state.freq && after.tai == state.tai);
}

void is_refused(const Checks& check) {
  check.fails("clock_settime", set_realtime(now()), EPERM);
  timex wishes{};
  wishes.modes = ADJ_TICK;
  check.fails("adjtimex", ::syscall(SYS_adjtimex, &wishes), EPERM);
}

constexpr Case kCases[] = {
    {"root", Off::kFails, is_served},
    {"thread", Off::kFails, [](const Checks& check) { in_thread([&] { is_served(check); }); }},
    {"user with CAP_SYS_TIME", Off::kFails,
     [](const Checks& check) {
       act_as(check, {.uid = 1234, .gid = 1234}, {CAP_SYS_TIME});
       is_served(check);
     }},
    {"without CAP_SYS_TIME", Off::kHolds,
     [](const Checks& check) {
       drop_capability(check, CAP_SYS_TIME);
       is_refused(check);
       in_thread([&] { is_refused(check); });
     }},
    {"user namespace of the caller's own", Off::kHolds,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWUSER", ::unshare(CLONE_NEWUSER) == 0);
       is_refused(check);
     }},
    {"times that cannot be", Off::kFails,
     [](const Checks& check) {
       check.fails("before the machine's start", set_realtime({.tv_sec = 0, .tv_nsec = 0}), EINVAL);
       check.fails("a fraction", set_realtime({.tv_sec = now().tv_sec, .tv_nsec = 1'000'000'000}),
                   EINVAL);
       timex wishes{};
       wishes.modes = ADJ_TICK;
       check.fails("a tick", ::syscall(SYS_adjtimex, &wishes), EINVAL);
     }},
    {"memory that is not there", Off::kHolds,
     [](const Checks& check) {
       const Border border(check, Border::Beyond::kUnmapped);
       check.fails("clock_settime", ::syscall(SYS_clock_settime, CLOCK_REALTIME, border.line()),
                   EFAULT);
       check.fails("adjtimex", ::syscall(SYS_adjtimex, border.line()), EFAULT);
     }},
};

}  // namespace

Grid grid() {
  return {.name = "clock_perform",
          .policy = R"({"rules": [{"emulate": "clock", "options": {"mode": "perform"}}]})",
          .themes = {{"performed", kCases}}};
}

}  // namespace sidecall::grid
