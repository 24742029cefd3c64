#include "emulators/clock_rules.h"

#include <gtest/gtest.h>

#include <limits>

namespace sidecall::emulators {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kEnd = 8'277'292'036;  // the first second that is too late

// A machine that has been up for 100.5 s at the second 1000.25.
constexpr Clocks kNow = {.realtime = {.tv_sec = 1000, .tv_nsec = 250'000'000},
                         .monotonic = {.tv_sec = 100, .tv_nsec = 500'000'000}};

timex wishes(std::uint32_t modes) {
  timex wishes{};
  wishes.modes = modes;
  wishes.tick = 10'000;
  return wishes;
}
timex offset(std::int64_t seconds, std::int64_t fraction, std::uint32_t modes = 0) {
  timex offset = wishes(ADJ_SETOFFSET | modes);
  offset.time = {.tv_sec = seconds, .tv_usec = fraction};
  return offset;
}

TEST(ClockRules, SettableTimesAreThoseThatTheClockCanHold) {
  EXPECT_TRUE(is_settable({0, 0}));
  EXPECT_TRUE(is_settable({kEnd - 1, 999'999'999}));
  EXPECT_FALSE(is_settable({kEnd, 0}));
  EXPECT_FALSE(is_settable({-1, 0}));
  EXPECT_FALSE(is_settable({0, -1}));
  EXPECT_FALSE(is_settable({0, 1'000'000'000}));
  EXPECT_FALSE(is_settable({kMost, kLeast}));
}

TEST(ClockRules, TheMachineHasStartedAfter1970) {
  EXPECT_TRUE(is_before_start({100, 499'999'999}, kNow));
  EXPECT_TRUE(is_before_start({99, 999'999'999}, kNow));
  EXPECT_FALSE(is_before_start({100, 500'000'000}, kNow));
  EXPECT_FALSE(is_before_start({101, 0}, kNow));
}

TEST(ClockRules, ZonesAreWithin15Hours) {
  using Zone = struct timezone;
  EXPECT_TRUE(is_valid(Zone{900, 7}));
  EXPECT_TRUE(is_valid(Zone{-900, 0}));
  EXPECT_FALSE(is_valid(Zone{901, 0}));
  EXPECT_FALSE(is_valid(Zone{-901, 0}));
}

TEST(ClockRules, OnlyChangesNeedPrivilege) {
  EXPECT_FALSE(needs_privilege(0));
  EXPECT_FALSE(needs_privilege(ADJ_OFFSET_SS_READ));
  EXPECT_FALSE(needs_privilege(0x8000)) << "EINVAL for anybody";
  EXPECT_FALSE(needs_privilege(0x8000 | ADJ_SETOFFSET)) << "EINVAL for anybody";
  for (const std::uint32_t modes : {1U, 0x2000U, 0x80U, 0x40000000U, 0x8001U}) {
    EXPECT_TRUE(needs_privilege(modes)) << modes;
  }
  EXPECT_TRUE(needs_privilege(ADJ_OFFSET_SS_READ | ADJ_SETOFFSET));
}

TEST(ClockRules, ReadingAsTheCallIsMade) {
  EXPECT_EQ(read_only(ADJ_TICK | ADJ_OFFSET), 0U);
  EXPECT_EQ(read_only(ADJ_OFFSET_SINGLESHOT), 0xa001U);
}

TEST(ClockRules, TicksAreWithinATenth) {
  for (const auto& [tick, valid] : {std::pair(8'999, false),
                                    {9'000, true},
                                    {11'000, true},
                                    {11'001, false},
                                    {-10'000, false}}) {
    timex adjustment = wishes(ADJ_TICK);
    adjustment.tick = tick;
    EXPECT_EQ(is_valid(adjustment, kNow), valid) << tick;
    adjustment.modes = ADJ_STATUS;
    EXPECT_TRUE(is_valid(adjustment, kNow)) << "not asked for";
    adjustment.modes = ADJ_OFFSET_SINGLESHOT | ADJ_TICK;
    EXPECT_TRUE(is_valid(adjustment, kNow)) << "adjtime(3) has none";
  }
}

TEST(ClockRules, FrequenciesDoNotOverflow) {
  constexpr std::int64_t kLargest = kMost / 65'536'000;
  for (const auto& [frequency, valid] : {std::pair(kLargest, true),
                                         {kLargest + 1, false},
                                         {-kLargest, true},
                                         {-kLargest - 1, false},
                                         {kMost, false},
                                         {kLeast, false}}) {
    timex adjustment = wishes(ADJ_FREQUENCY);
    adjustment.freq = frequency;
    EXPECT_EQ(is_valid(adjustment, kNow), valid) << frequency;
    adjustment.modes = ADJ_STATUS;
    EXPECT_TRUE(is_valid(adjustment, kNow)) << "not asked for";
  }
}

TEST(ClockRules, OffsetsHaveWholeFractions) {
  EXPECT_TRUE(is_valid(offset(1, 0), kNow));
  EXPECT_TRUE(is_valid(offset(-1, 999'999), kNow));
  EXPECT_FALSE(is_valid(offset(1, 1'000'000), kNow));
  EXPECT_FALSE(is_valid(offset(1, -1), kNow));
  EXPECT_TRUE(is_valid(offset(1, 999'999'999, ADJ_NANO), kNow));
  EXPECT_FALSE(is_valid(offset(1, 1'000'000'000, ADJ_NANO), kNow));
}

TEST(ClockRules, OffsetsLeadToATimeThatCanBeSet) {
  // 1000.25 s and -899.75 s are 100.5 s, at which the machine started.
  EXPECT_TRUE(is_valid(offset(-900, 250'000), kNow));
  EXPECT_FALSE(is_valid(offset(-900, 249'999), kNow));
  EXPECT_TRUE(is_valid(offset(kEnd - 1001, 749'999), kNow));
  EXPECT_FALSE(is_valid(offset(kEnd - 1001, 750'000), kNow));
  for (const std::int64_t absurd : {kMost, kMost - 1000, kLeast, kLeast + 1000}) {
    EXPECT_FALSE(is_valid(offset(absurd, 999'999), kNow)) << absurd;
  }
}

}  // namespace
}  // namespace sidecall::emulators
