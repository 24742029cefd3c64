#include "cli/statistics_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::cli {
namespace {

TEST(ShortDurationTest, KeepsTwoDigitsAndPicksTheUnit) {
  EXPECT_EQ(short_duration(0), "0ns");
  EXPECT_EQ(short_duration(999), "999ns");
  EXPECT_EQ(short_duration(1000), "1.0µs");
  EXPECT_EQ(short_duration(2149), "2.1µs");
  EXPECT_EQ(short_duration(9949), "9.9µs");
  EXPECT_EQ(short_duration(9950), "10µs");
  EXPECT_EQ(short_duration(999'499), "999µs");
  EXPECT_EQ(short_duration(999'500), "1.0ms");
  EXPECT_EQ(short_duration(13'000'000), "13ms");
  EXPECT_EQ(short_duration(7'200'000'000'000), "7200s");
}

TEST(StatisticsTableTest, StaysWithin80ColumnsWithBigFigures) {
  const SyscallFigures row{.name = "name_to_handle_at_time64",
                           .abi = "x86_64",
                           .calls = 123'456'789,
                           .continued = 1'234'567,
                           .errnos = 123'456,
                           .values = 123'456,
                           .p50_ns = 2100,
                           .p99_ns = 250'000};
  const std::string text = statistics_table({row});
  EXPECT_THAT(text, testing::HasSubstr("123456789"));
  const std::string line = text.substr(text.find('\n') + 1);
  // Two characters of the line have two bytes, and the sign for what was cut has three.
  EXPECT_LE(line.size(), 80U + 1 + 2 + 2) << text;
}

TEST(StatisticsTableTest, ShowsTheKindsOfAnswerThatWereGiven) {
  const std::string text =
      statistics_table({{.name = "a", .abi = "x86_64", .calls = 2, .errnos = 2},
                        {.name = "b", .abi = "x86_64", .calls = 3, .values = 2, .failures = 1}});
  EXPECT_THAT(text, testing::AllOf(testing::HasSubstr("ERRNO  VALUE  FAIL"),
                                   testing::Not(testing::HasSubstr("GONE"))));
}

TEST(StatisticsTableTest, LeavesOutWhatWasNeverCalled) {
  EXPECT_THAT(statistics_table({{.name = "mknod", .abi = "x86_64"}}),
              testing::HasSubstr("no call"));
}

}  // namespace
}  // namespace sidecall::cli
