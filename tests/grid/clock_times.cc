// clock_settime(2), settimeofday(2) and stime(2): times, zones and clocks.
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "grid/caller.h"
#include "grid/clock.h"

namespace sidecall::grid {
namespace {

constexpr long kNanoseconds = 1'000'000'000;
constexpr long kMicroseconds = 1'000'000;

long set_zone(int minutes_west) {
  const struct timezone zone { .tz_minuteswest = minutes_west, .tz_dsttime = 0 };
  return set_time_of_day(nullptr, &zone);
}

constexpr Case kCases[] = {
    {"times that can be", Off::kFails,
     [](const Checks& check) {
       keeps_the_clock(check, [&] {
         check.gives("clock_settime", set_realtime(kLater, 0), 0);
         check.gives("the last nanosecond", set_realtime(kLater, kNanoseconds - 1), 0);
         check.gives("settimeofday", set_wall_time(kLater, 0), 0);
         check.gives("the last microsecond", set_wall_time(kLater, kMicroseconds - 1), 0);
       });
     },
     Where::kContainerOnly},
    {"times that cannot be", Off::kHolds,
     [](const Checks& check) {
       for (const long nanoseconds : {kNanoseconds, -1L, LONG_MAX, LONG_MIN}) {
         check.fails("nanoseconds " + std::to_string(nanoseconds),
                     set_realtime(kLater, nanoseconds), EINVAL);
       }
       for (const long microseconds : {kMicroseconds, kMicroseconds + 1, -1L, LONG_MAX, LONG_MIN}) {
         check.fails("microseconds " + std::to_string(microseconds),
                     set_wall_time(kLater, microseconds), EINVAL);
       }
       for (const time_t seconds : {time_t{-1}, static_cast<time_t>(LONG_MIN)}) {
         check.fails("seconds " + std::to_string(seconds), set_realtime(seconds, 0), EINVAL);
         check.fails("of settimeofday", set_wall_time(seconds, 0), EINVAL);
       }
     }},
#if !defined(__i386__)
    {"times beyond what the kernel counts", Off::kHolds,
     [](const Checks& check) {
       // KTIME_SEC_MAX without the thirty years that are kept for the machine to be up.
       for (const time_t seconds : {8'277'292'036L, LONG_MAX}) {
         check.fails("seconds " + std::to_string(seconds), set_realtime(seconds, 0), EINVAL);
         check.fails("of settimeofday", set_wall_time(seconds, 0), EINVAL);
       }
     }},
#endif
    {"times before the machine's start", Off::kFails,
     [](const Checks& check) {
       check.fails("clock_settime", set_realtime(0, 0), EINVAL);
       check.fails("a nanosecond later", set_realtime(0, 1), EINVAL);
       check.fails("settimeofday", set_wall_time(0, 0), EINVAL);
     }},
    {"zones that can be", Off::kFails,
     [](const Checks& check) {
       for (const int minutes : {0, 60, -60, 900, -900}) {
         check.gives("zone " + std::to_string(minutes), set_zone(minutes), 0);
       }
     },
     Where::kContainerOnly},
    {"zones that cannot be", Off::kFails,
     [](const Checks& check) {
       for (const int minutes : {901, -901, INT_MAX, INT_MIN}) {
         check.fails("zone " + std::to_string(minutes), set_zone(minutes), EINVAL);
       }
     }},
    {"nothing to set", Off::kFails,
     [](const Checks& check) {
       check.gives("settimeofday", set_time_of_day(nullptr, nullptr), 0);
     }},
    {"clocks that nobody sets", Off::kHolds,
     [](const Checks& check) {
       for (const clockid_t clock :
            {CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME,
             CLOCK_TAI, CLOCK_REALTIME_COARSE, 12, 99, INT_MAX}) {
         const timespec time{.tv_sec = kLater, .tv_nsec = 0};
         check.fails("clock " + std::to_string(clock), set_clock(clock, &time), EINVAL);
         check.fails("without a time", set_clock(clock, nullptr), EINVAL);
       }
     }},
    {"garbage above the clock's number", Off::kFails,
     [](const Checks& check) {
       // None where a long has 32 bits.
       const auto garbage = static_cast<unsigned long>(0xdeadbeefULL << 32U);
       const timespec time{.tv_sec = kLater, .tv_nsec = 0};
       check.gives("clock_settime", ::syscall(SYS_clock_settime, garbage, &time), 0);
     },
     Where::kContainerOnly},
#if defined(__i386__)
    {"stime", Off::kFails,
     [](const Checks& check) {
       keeps_the_clock(check, [&] { check.gives("the call", ::syscall(SYS_stime, &kLater), 0); });
     },
     Where::kContainerOnly},
    {"stime of what cannot be read", Off::kHolds,
     [](const Checks& check) { check.fails("the call", ::syscall(SYS_stime, nullptr), EFAULT); }},
    {"clock_settime64", Off::kFails,
     [](const Checks& check) {
       // The upper half of nanoseconds is padding.
       const std::int64_t time[2] = {4'000'000'000, 0x7eadbeef'00000000};
       check.gives("the call", ::syscall(SYS_clock_settime64, CLOCK_REALTIME, time), 0);
     },
     Where::kContainerOnly},
    {"clock_settime64 of what cannot be", Off::kHolds,
     [](const Checks& check) {
       for (const std::int64_t seconds : {std::int64_t{-1}, std::int64_t{8'277'292'036}}) {
         const std::int64_t time[2] = {seconds, 0};
         check.fails("the call", ::syscall(SYS_clock_settime64, CLOCK_REALTIME, time), EINVAL);
       }
     }},
#endif
};

}  // namespace

std::span<const Case> clock_times() {
  return kCases;
}

}  // namespace sidecall::grid
