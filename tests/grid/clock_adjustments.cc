// adjtimex(2) and clock_adjtime(2): what is asked for, and what comes back.
#include <climits>
#include <cstring>

#include "grid/caller.h"
#include "grid/clock.h"

namespace sidecall::grid {
namespace {

// linux/timex.h; glibc names the two halves of adjtime(3) only together.
constexpr unsigned kAdjtime = 0x8000;

timex wish(unsigned modes) {
  timex wishes{};
  wishes.modes = modes;
  return wishes;
}

timex offset(time_t seconds, long fraction, unsigned modes = 0) {
  timex wishes = wish(ADJ_SETOFFSET | modes);
  wishes.time = {.tv_sec = seconds, .tv_usec = fraction};
  return wishes;
}

void fail_to_adjust(const Checks& check, std::string_view what, timex wishes) {
  timex again = wishes;
  check.fails(what, adjust(&wishes), EINVAL);
  check.fails(std::string(what) + ", by clock_adjtime", adjust_clock(CLOCK_REALTIME, &again),
              EINVAL);
}

// Both calls give the clock's state, in their result and in memory.
void adjust_by(const Checks& check, const std::string& what, timex wishes) {
  timex state{};
  const long wanted = adjust(&state);
  timex again = wishes;
  check.gives(what, adjust(&wishes), wanted);
  check.gives(what + ", by clock_adjtime", adjust_clock(CLOCK_REALTIME, &again), wanted);
  for (const timex& answer : {wishes, again}) {
    check.holds(what + ": modes are as they were", answer.modes != 0);
    check.holds(what + ": the host's tick", answer.tick == state.tick);
    check.holds(what + ": its frequency", answer.freq == state.freq);
    check.holds(what + ": the time", answer.time.tv_sec - state.time.tv_sec < 60 &&
                                         answer.time.tv_sec >= state.time.tv_sec);
  }
}

constexpr Case kCases[] = {
    {"state of the clock", Off::kHolds,
     [](const Checks& check) {
       timex state{};
       const long result = adjust(&state);
       check.succeeds("adjtimex", result);
       check.holds("ticks are about a hundredth of a second",
                   state.tick >= 9000 && state.tick <= 11000);
       timex again{};
       check.gives("clock_adjtime", adjust_clock(CLOCK_REALTIME, &again), result);
       timex left = wish(ADJ_OFFSET_SS_READ);
       check.gives("what is left of adjtime(3)", adjust(&left), result);
     }},
    {"what is there to be adjusted", Off::kFails,
     [](const Checks& check) {
       keeps_the_clock(check, [&] {
         for (const int mode :
              {ADJ_OFFSET, ADJ_FREQUENCY, ADJ_MAXERROR, ADJ_ESTERROR, ADJ_STATUS, ADJ_TIMECONST,
               ADJ_TAI, ADJ_MICRO, ADJ_NANO, ADJ_OFFSET_SINGLESHOT}) {
           adjust_by(check, "mode " + std::to_string(mode), wish(static_cast<unsigned>(mode)));
         }
         timex tick = wish(ADJ_TICK);
         for (const long value : {9000L, 10'000L, 11'000L}) {
           tick.tick = value;
           adjust_by(check, "tick " + std::to_string(value), tick);
         }
         adjust_by(check, "a year on", offset(31'536'000, 999'999));
         adjust_by(check, "a second back", offset(-1, 0));
         adjust_by(check, "in nanoseconds", offset(1, 999'999'999, ADJ_NANO));
       });
     },
     Where::kContainerOnly},
    {"half of adjtime(3)", Off::kHolds,
     [](const Checks& check) { fail_to_adjust(check, "the call", wish(kAdjtime)); }},
    {"ticks that cannot be", Off::kFails,
     [](const Checks& check) {
       timex wishes = wish(ADJ_TICK);
       for (const long tick : {0L, 8999L, 11'001L, -1L, LONG_MAX, LONG_MIN}) {
         wishes.tick = tick;
         fail_to_adjust(check, "tick " + std::to_string(tick), wishes);
       }
     }},
    {"frequencies that overflow", Off::kFails,
     [](const Checks& check) {
       if constexpr (sizeof(long) == 8) {
         timex wishes = wish(ADJ_FREQUENCY);
         for (const long frequency : {LONG_MAX, LONG_MIN, LONG_MAX / 65'536'000 + 1}) {
           wishes.freq = frequency;
           fail_to_adjust(check, "frequency " + std::to_string(frequency), wishes);
         }
       } else {
         // Every number that 32 bits hold is one, and cut to what the clock can.
         fail_to_adjust(check, "no tick", wish(ADJ_TICK | ADJ_FREQUENCY));
       }
     }},
    {"offsets that cannot be", Off::kFails,
     [](const Checks& check) {
       for (const long fraction : {-1L, 1'000'000L, LONG_MAX, LONG_MIN}) {
         fail_to_adjust(check, "microseconds " + std::to_string(fraction), offset(0, fraction));
       }
       fail_to_adjust(check, "nanoseconds", offset(0, 1'000'000'000, ADJ_NANO));
       fail_to_adjust(check, "before 1970", offset(-2'147'483'000, 0));
       if constexpr (sizeof(time_t) == 8) {
         fail_to_adjust(check, "past the end of time", offset(LONG_MAX, 0));
         fail_to_adjust(check, "long before 1970", offset(LONG_MIN, 0));
       }
     }},
    {"clocks that nobody adjusts", Off::kHolds,
     [](const Checks& check) {
       timex wishes = wish(ADJ_TICK);
       for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI}) {
         check.fails("clock " + std::to_string(clock), adjust_clock(clock, &wishes), EOPNOTSUPP);
       }
       check.fails("no clock", adjust_clock(99, &wishes), EINVAL);
     }},
};

}  // namespace

std::span<const Case> clock_adjustments() {
  return kCases;
}

}  // namespace sidecall::grid
