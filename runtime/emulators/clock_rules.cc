#include "emulators/clock_rules.h"

#include <limits>
#include <tuple>

namespace sidecall::emulators {
namespace {

constexpr long kNanoseconds = 1'000'000'000;
constexpr long kMicroseconds = 1'000'000;

// KTIME_SEC_MAX without TIME_UPTIME_SEC_MAX.
constexpr std::int64_t kSettableEnd =
    std::numeric_limits<std::int64_t>::max() / kNanoseconds - std::int64_t{30} * 365 * 24 * 3600;

// struct timex's modes as the kernel takes them apart; the C library has only sums of these.
constexpr std::uint32_t kAdjtime = 0x8000;     // ADJ_ADJTIME: as adjtime(3)
constexpr std::uint32_t kSingleShot = 0x0001;  // ADJ_OFFSET_SINGLESHOT: goes with it
constexpr std::uint32_t kReadOnly = 0x2000;    // ADJ_OFFSET_READONLY: of it
static_assert((kAdjtime | kSingleShot) == ADJ_OFFSET_SINGLESHOT);
static_assert((kAdjtime | kSingleShot | kReadOnly) == ADJ_OFFSET_SS_READ);

constexpr std::int64_t kUserHz = 100;
constexpr std::int64_t kPpmScale = 65536L * 1000;  // PPM_SCALE of linux/timex.h

constexpr bool has(std::uint32_t modes, std::uint32_t bit) {
  return (modes & bit) != 0;
}

// Sums and differences wrap, as the kernel's do: what they are made of is hostile.
std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

timespec sum(const timespec& a, const timespec& b) {
  timespec sum{.tv_sec = wrapping_add(a.tv_sec, b.tv_sec), .tv_nsec = a.tv_nsec + b.tv_nsec};
  if (sum.tv_nsec >= kNanoseconds) {
    sum.tv_nsec -= kNanoseconds;
    sum.tv_sec = wrapping_add(sum.tv_sec, 1);
  }
  return sum;
}

bool is_valid_offset(const timex& wishes, const Clocks& now) {
  const bool nanoseconds = has(wishes.modes, ADJ_NANO);
  const long fraction = wishes.time.tv_usec;
  if (fraction < 0 || fraction >= (nanoseconds ? kNanoseconds : kMicroseconds)) return false;
  const timespec offset{.tv_sec = wishes.time.tv_sec,
                        .tv_nsec = nanoseconds ? fraction : fraction * 1000};
  const timespec wanted = sum(now.realtime, offset);
  return is_settable(wanted) && !is_before_start(wanted, now);
}

}  // namespace

Clocks read_clocks() {
  Clocks now;
  ::clock_gettime(CLOCK_REALTIME, &now.realtime);
  ::clock_gettime(CLOCK_MONOTONIC, &now.monotonic);
  return now;
}

bool is_settable(const timespec& time) {
  return time.tv_sec >= 0 && time.tv_sec < kSettableEnd && time.tv_nsec >= 0 &&
         time.tv_nsec < kNanoseconds;
}

bool is_before_start(const timespec& time, const Clocks& now) {
  return std::tie(time.tv_sec, time.tv_nsec) <
         std::tie(now.monotonic.tv_sec, now.monotonic.tv_nsec);
}

bool is_valid(const struct timezone& zone) {
  constexpr int kMost = 15 * 60;
  return zone.tz_minuteswest >= -kMost && zone.tz_minuteswest <= kMost;
}

bool needs_privilege(std::uint32_t modes) {
  if (!has(modes, kAdjtime)) return modes != 0;
  if (!has(modes, kSingleShot)) return false;  // EINVAL for anybody
  return !has(modes, kReadOnly) || has(modes, ADJ_SETOFFSET);
}

std::uint32_t read_only(std::uint32_t modes) {
  return has(modes, kAdjtime) ? ADJ_OFFSET_SS_READ : 0;
}

bool is_valid(const timex& wishes, const Clocks& now) {
  if (!has(wishes.modes, kAdjtime) && has(wishes.modes, ADJ_TICK) &&
      (wishes.tick < 900'000 / kUserHz || wishes.tick > 1'100'000 / kUserHz)) {
    return false;
  }
  if (has(wishes.modes, ADJ_FREQUENCY) &&
      (wishes.freq < std::numeric_limits<std::int64_t>::min() / kPpmScale ||
       wishes.freq > std::numeric_limits<std::int64_t>::max() / kPpmScale)) {
    return false;
  }
  return !has(wishes.modes, ADJ_SETOFFSET) || is_valid_offset(wishes, now);
}

}  // namespace sidecall::emulators
