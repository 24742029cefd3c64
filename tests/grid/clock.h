// What the cases of the calls that set the clock have in common. No case sets it: natively only
// what the kernel refuses is asked for, and with sidecall off nobody in a container may.
#pragma once

#include <sys/time.h>
#include <sys/timex.h>

#include <ctime>
#include <functional>
#include <span>
#include <string>

#include "grid/case.h"

namespace sidecall::grid {

// In 2033, and in what 32 bits hold.
inline constexpr time_t kLater = 2'000'000'000;

// The bare system calls, with the structures of this ABI.
long set_clock(clockid_t clock, const void* time);
long set_realtime(time_t seconds, long nanoseconds);
long set_time_of_day(const void* time, const void* zone);
long set_wall_time(time_t seconds, long microseconds);
long adjust(void* wishes);
long adjust_clock(clockid_t clock, void* wishes);

// That `act` leaves the clock as it was.
void keeps_the_clock(const Checks& check, const std::function<void()>& act);

[[nodiscard]] std::span<const Case> clock_times();
[[nodiscard]] std::span<const Case> clock_adjustments();
[[nodiscard]] std::span<const Case> clock_callers();
[[nodiscard]] std::span<const Case> clock_memory();

}  // namespace sidecall::grid
