// Where times, zones and adjustments are: memory that can be read or written, in part or not.
#include <array>
#include <cstring>

#include "grid/caller.h"
#include "grid/clock.h"

namespace sidecall::grid {
namespace {

constexpr std::array kUnreadable = {Border::Beyond::kUnmapped, Border::Beyond::kNoAccess};
constexpr std::array<std::uintptr_t, 3> kNowhere = {1, UINTPTR_MAX, ~(UINTPTR_MAX >> 1U)};

void* at_address(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

template <typename T>
T* place_before(const Border& border, const T& value, std::size_t size = sizeof(T)) {
  return static_cast<T*>(std::memcpy(border.line() - size, &value, size));
}

constexpr Case kCases[] = {
    {"where nothing is", Off::kHolds,
     [](const Checks& check) {
       for (const std::uintptr_t address : kNowhere) {
         void* const bad = at_address(address);
         check.fails("clock_settime", set_clock(CLOCK_REALTIME, bad), EFAULT);
         check.fails("settimeofday", set_time_of_day(bad, nullptr), EFAULT);
         check.fails("zone", set_time_of_day(nullptr, bad), EFAULT);
         check.fails("adjtimex", adjust(bad), EFAULT);
         check.fails("clock_adjtime", adjust_clock(CLOCK_REALTIME, bad), EFAULT);
         check.fails("clock_adjtime of no clock", adjust_clock(99, bad), EFAULT);
       }
       check.fails("clock_settime of NULL", set_clock(CLOCK_REALTIME, nullptr), EFAULT);
       check.fails("adjtimex of NULL", adjust(nullptr), EFAULT);
       check.fails("clock_adjtime of NULL", adjust_clock(CLOCK_REALTIME, nullptr), EFAULT);
     }},
    {"a part that cannot be read", Off::kHolds,
     [](const Checks& check) {
       // What of it is read first could be, so that only the rest decides.
       const timespec time{.tv_sec = kLater, .tv_nsec = 0};
       const timeval of_day{.tv_sec = kLater, .tv_usec = 0};
       const timex wishes{};
       for (const auto beyond : kUnreadable) {
         const Border border(check, beyond);
         check.fails("clock_settime",
                     set_clock(CLOCK_REALTIME, place_before(border, time, sizeof time - 1)),
                     EFAULT);
         check.fails("settimeofday",
                     set_time_of_day(place_before(border, of_day, sizeof of_day - 1), nullptr),
                     EFAULT);
         check.fails("adjtimex", adjust(place_before(border, wishes, sizeof wishes - 1)), EFAULT);
       }
     }},
    {"times that end with a page", Off::kFails,
     [](const Checks& check) {
       const timespec time{.tv_sec = kLater, .tv_nsec = 0};
       const timeval of_day{.tv_sec = kLater, .tv_usec = 0};
       timex wishes{};
       wishes.modes = ADJ_STATUS;
       for (const auto beyond : kUnreadable) {
         const Border border(check, beyond);
         check.gives("clock_settime", set_clock(CLOCK_REALTIME, place_before(border, time)), 0);
         check.gives("settimeofday", set_time_of_day(place_before(border, of_day), nullptr), 0);
         check.succeeds("adjtimex", adjust(place_before(border, wishes)));
       }
     },
     Where::kContainerOnly},
    {"state that cannot be written", Off::kHolds,
     [](const Checks& check) {
       const Border border(check, Border::Beyond::kReadOnly);
       check.fails("adjtimex", adjust(border.line()), EFAULT);
       check.fails("clock_adjtime", adjust_clock(CLOCK_REALTIME, border.line()), EFAULT);
     }},
    {"adjustment that cannot be written", Off::kHolds,
     [](const Checks& check) {
       static constexpr timex kWishes = [] {
         timex wishes{};
         wishes.modes = ADJ_STATUS;
         return wishes;
       }();
       // By its address alone: it is in a page that the program may not write.
       const auto address = reinterpret_cast<std::uintptr_t>(&kWishes);
       check.fails("adjtimex", adjust(at_address(address)), EFAULT);
     },
     Where::kContainerOnly},
    {"time, its fraction, zone, the rest: in that order", Off::kHolds,
     [](const Checks& check) {
       const timeval over{.tv_sec = kLater, .tv_usec = 1'000'000};
       const timeval early{.tv_sec = -1, .tv_usec = 0};
       void* const bad = at_address(1);
       check.fails("time before zone", set_time_of_day(bad, bad), EFAULT);
       check.fails("fraction before zone", set_time_of_day(&over, bad), EINVAL);
       check.fails("zone before the rest", set_time_of_day(&early, bad), EFAULT);
       const struct timezone far { .tz_minuteswest = 901, .tz_dsttime = 0 };
       check.fails("the rest", set_time_of_day(&early, &far), EINVAL);
     }},
};

}  // namespace

std::span<const Case> clock_memory() {
  return kCases;
}

}  // namespace sidecall::grid
