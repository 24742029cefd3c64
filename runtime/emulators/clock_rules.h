// What the kernel takes for a time or an adjustment of its clock, from kernel/time/timekeeping.c
// and include/linux/time64.h. All of it is said to callers that may set the clock; others are
// refused before most of it.
#pragma once

#include <sys/time.h>
#include <sys/timex.h>

#include <cstdint>
#include <ctime>

namespace sidecall::emulators {

// The kernel's clocks at one moment, not shifted by any time namespace of ours.
struct Clocks {
  timespec realtime{};
  timespec monotonic{};
};
[[nodiscard]] Clocks read_clocks();

// A time that CLOCK_REALTIME could have: from 1970 until 30 years before the end of its 64-bit
// nanoseconds.
[[nodiscard]] bool is_settable(const timespec& time);
// CLOCK_REALTIME cannot be set to less than CLOCK_MONOTONIC.
[[nodiscard]] bool is_before_start(const timespec& time, const Clocks& now);
// Within 15 hours of UTC.
[[nodiscard]] bool is_valid(const struct timezone& zone);

// Whether adjtimex(2) with these modes asks for CAP_SYS_TIME: not to read the state, and not where
// nobody could do it.
[[nodiscard]] bool needs_privilege(std::uint32_t modes);
// The modes that read the state which a call with `modes` gives: adjtime(3) has one of its own.
[[nodiscard]] std::uint32_t read_only(std::uint32_t modes);
// For modes that need privilege.
[[nodiscard]] bool is_valid(const timex& wishes, const Clocks& now);

}  // namespace sidecall::emulators
