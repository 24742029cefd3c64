#include "cli/bench_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "cli/bench_latencies.h"
#include "cli/bench_row.h"

namespace sidecall::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<BenchResult> sample() {
  return {{.name = "floor", .rounds = {2.0, 4.0, 3.0}, .percentiles = {{0.0, 1.5}, {0.5, 3.0}}},
          {.name = "value <&>", .against = "floor", .rounds = {6.0}},
          {.name = "lone", .against = "not run", .rounds = {1.0}}};
}

TEST(BenchLatencies, GivesPercentilesWithinAThirtySecond) {
  const auto latencies = std::make_unique<Latencies>();
  EXPECT_EQ(latencies->percentile(0.5), 0U);
  for (std::uint64_t value = 1; value <= 10'000; ++value) latencies->add(value);
  EXPECT_EQ(latencies->total(), 10'000U);
  for (const double share : {0.001, 0.25, 0.5, 0.9, 0.9999, 1.0}) {
    const double exact = share * 10'000;
    const auto found = static_cast<double>(latencies->percentile(share));
    EXPECT_LE(found, exact) << share;
    EXPECT_GE(found, exact * 31 / 32 - 1) << share;
  }
}

TEST(BenchLatencies, TakesAnyTime) {
  const auto latencies = std::make_unique<Latencies>();
  latencies->add(0);
  latencies->add(~std::uint64_t{0});
  EXPECT_EQ(latencies->percentile(0), 0U);
  EXPECT_GT(latencies->percentile(1), std::uint64_t{1} << 36U);
}

TEST(BenchReport, ComparesMedians) {
  const auto results = sample();
  EXPECT_DOUBLE_EQ(results[0].median(), 3);
  EXPECT_DOUBLE_EQ(results[0].least(), 2);
  EXPECT_EQ(ratio_of(results[0], results), std::nullopt);
  EXPECT_DOUBLE_EQ(ratio_of(results[1], results).value_or(0), 2);
  EXPECT_EQ(ratio_of(results[2], results), std::nullopt);
}

TEST(BenchReport, TableFitsATerminal) {
  auto results = sample();
  results.push_back({.name = std::string(200, 'x'), .rounds = {1.0}});
  const std::string table = bench_table(results);
  EXPECT_THAT(table, AllOf(HasSubstr("MEDIAN us"), HasSubstr("333333"), HasSubstr("2.00\n")));
  std::size_t width = 0;
  for (const char c : table) {
    width = c == '\n' ? 0 : width + ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0);
    ASSERT_LE(width, kBenchWidth);
  }
}

TEST(BenchReport, JsonHasEveryRoundAndOnlyRatiosThatAre) {
  const std::string json = bench_json(sample());
  EXPECT_THAT(json, AllOf(HasSubstr("\"rounds_us\": [\n      2,\n      4,\n      3\n    ]"),
                          HasSubstr("\"ratio\": 2"), HasSubstr("\"share\": 0.5"),
                          Not(HasSubstr("not run"))));
}

TEST(BenchReport, SvgDrawsWhatWasTimed) {
  auto results = sample();
  results[1].percentiles = {{0.0, 2.0}, {0.9999, 300.0}};
  const std::string svg = bench_svg(results);
  EXPECT_THAT(svg, AllOf(HasSubstr("floor</text>"), HasSubstr("value &lt;&amp;></text>"),
                         Not(HasSubstr("lone")), Not(HasSubstr("nan"))));
  EXPECT_THAT(bench_svg({}), HasSubstr("</svg>"));
}

TEST(BenchRows, AreHeldAgainstRowsBeforeThem) {
  for (const int cpus : {1, 2}) {
    std::vector<std::string> names;
    for (const BenchRow& row : bench_rows(cpus)) {
      EXPECT_THAT(names, Not(testing::Contains(row.name)));
      if (!row.against.empty()) {
        EXPECT_THAT(names, testing::Contains(row.against)) << row.name;
      }
      EXPECT_FALSE(cpus == 1 && row.where == BenchRow::Where::kApart) << row.name;
      names.push_back(row.name);
    }
  }
}

}  // namespace
}  // namespace sidecall::cli
