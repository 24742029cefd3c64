#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "grid/clock.h"

namespace sidecall::grid {
namespace {

// The wall clock against one that nobody sets, in seconds.
double lead_of_the_clock() {
  timespec wall{};
  timespec steady{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  ::clock_gettime(CLOCK_MONOTONIC, &steady);
  return static_cast<double>(wall.tv_sec - steady.tv_sec) +
         static_cast<double>(wall.tv_nsec - steady.tv_nsec) / 1e9;
}

}  // namespace

Grid grid() {
  return {.name = "clock",
          .policy = R"({"rules": [{"emulate": "clock", "options": {"mode": "pretend"}}]})",
          .themes = {{"times", clock_times()},
                     {"adjustments", clock_adjustments()},
                     {"callers", clock_callers()},
                     {"memory", clock_memory()}}};
}

long set_clock(clockid_t clock, const void* time) {
  return ::syscall(SYS_clock_settime, clock, time);
}

long set_realtime(time_t seconds, long nanoseconds) {
  const timespec time{.tv_sec = seconds, .tv_nsec = nanoseconds};
  return set_clock(CLOCK_REALTIME, &time);
}

long set_time_of_day(const void* time, const void* zone) {
  return ::syscall(SYS_settimeofday, time, zone);
}

long set_wall_time(time_t seconds, long microseconds) {
  const timeval time{.tv_sec = seconds, .tv_usec = microseconds};
  return set_time_of_day(&time, nullptr);
}

long adjust(void* wishes) {
  return ::syscall(SYS_adjtimex, wishes);
}

long adjust_clock(clockid_t clock, void* wishes) {
  return ::syscall(SYS_clock_adjtime, clock, wishes);
}

void keeps_the_clock(const Checks& check, const std::function<void()>& act) {
  const double before = lead_of_the_clock();
  act();
  // Years would it be.
  check.holds("the clock is as before", std::abs(lead_of_the_clock() - before) < 3600);
}

}  // namespace sidecall::grid
