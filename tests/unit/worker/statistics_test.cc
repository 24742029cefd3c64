#include "worker/statistics.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <random>

#include "support/fd_name.h"

namespace sidecall::worker {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(LatencyHistogram, BucketsGrowWithTheirValuesAndSkipNone) {
  std::size_t last = LatencyHistogram::bucket(0);
  EXPECT_EQ(last, 0U);
  for (std::uint64_t value = 1; value < 100'000; ++value) {
    const std::size_t bucket = LatencyHistogram::bucket(value);
    ASSERT_TRUE(bucket == last || bucket == last + 1) << value;
    last = bucket;
  }
}

TEST(LatencyHistogram, AnUpperEdgeIsTheLastValueOfItsBucket) {
  for (std::size_t bucket = 0; bucket + 1 < LatencyHistogram::kBuckets; ++bucket) {
    const std::uint64_t edge = LatencyHistogram::upper_edge(bucket);
    EXPECT_EQ(LatencyHistogram::bucket(edge), bucket);
    EXPECT_EQ(LatencyHistogram::bucket(edge + 1), bucket + 1);
  }
}

TEST(LatencyHistogram, AnUpperEdgeIsWithinAnEighthOfEachOfItsValues) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 10'000; ++round) {
    const std::uint64_t value = 1 + (random() >> (28 + random() % 36));
    const std::uint64_t edge = LatencyHistogram::upper_edge(LatencyHistogram::bucket(value));
    EXPECT_GE(edge, value);
    EXPECT_LE(edge - value, value / 8);
  }
}

TEST(LatencyHistogram, WhatIsBeyondTheLastBucketIsCountedInIt) {
  constexpr std::size_t kLast = LatencyHistogram::kBuckets - 1;
  EXPECT_EQ(LatencyHistogram::bucket(~std::uint64_t{0}), kLast);
  EXPECT_EQ(LatencyHistogram::bucket(LatencyHistogram::upper_edge(kLast) + 1), kLast);
  EXPECT_GT(LatencyHistogram::upper_edge(kLast), 60'000'000'000U) << "a minute must fit";
}

TEST(LatencyHistogram, AnEmptyOneHasNoQuantiles) {
  EXPECT_EQ(LatencyHistogram().quantile(0.5), 0U);
}

TEST(LatencyHistogram, OneValueIsEveryQuantile) {
  LatencyHistogram histogram;
  histogram.record(2'000);
  for (const double fraction : {0.0, 0.5, 0.99, 1.0}) {
    EXPECT_GE(histogram.quantile(fraction), 2'000U);
    EXPECT_LE(histogram.quantile(fraction), 2'250U);
  }
}

TEST(LatencyHistogram, QuantilesAreWithinAnEighth) {
  LatencyHistogram histogram;
  for (std::uint64_t value = 1; value <= 10'000; ++value) histogram.record(value);
  for (const double fraction : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const double exact = fraction * 10'000;
    const auto told = static_cast<double>(histogram.quantile(fraction));
    EXPECT_GE(told, exact) << fraction;
    EXPECT_LE(told, exact * 1.125) << fraction;
  }
}

emulators::Program program_of_two() {
  emulators::Program program;
  program.routes.push_back({.abi = kernel::Abi::kI386, .nr = 122, .name = "uname", .rules = {}});
  program.routes.push_back(
      {.abi = kernel::Abi::kX86_64, .nr = 133, .name = std::string(100, 'x'), .rules = {}});
  return program;
}

UniqueFd duplicate(int fd) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

TEST(Statistics, StartAtZeroWithTheProgramsRoutes) {
  const auto statistics = Statistics::create(program_of_two());
  ASSERT_TRUE(statistics) << statistics.error().message;
  ASSERT_THAT(statistics->routes(), SizeIs(2));
  const RouteStatistics& route = statistics->routes()[0];
  EXPECT_EQ(route.abi, static_cast<std::uint32_t>(kernel::Abi::kI386));
  EXPECT_EQ(route.nr, 122);
  EXPECT_STREQ(route.name.data(), "uname");
  EXPECT_EQ(route.calls, 0U);
  EXPECT_EQ(route.failures, 0U);
  EXPECT_EQ(route.latency.quantile(1), 0U);
  EXPECT_EQ(statistics->header().sync, SyncState::kUnknown);
  EXPECT_EQ(statistics->header().stale, 0U);
  EXPECT_EQ(std::string(statistics->routes()[1].name.data()).size(), 39U) << "cut, with its NUL";
}

TEST(Statistics, AProgramWithoutRoutesHasAHeader) {
  const auto statistics = Statistics::create(emulators::Program{});
  ASSERT_TRUE(statistics) << statistics.error().message;
  EXPECT_THAT(statistics->routes(), SizeIs(0));
  EXPECT_TRUE(Statistics::map(duplicate(statistics->fd())));
}

TEST(Statistics, WhatOneMappingWritesAnotherReads) {
  const auto agent = Statistics::create(program_of_two());
  ASSERT_TRUE(agent);
  const auto worker = Statistics::map(duplicate(agent->fd()));
  ASSERT_TRUE(worker) << worker.error().message;
  ASSERT_THAT(worker->routes(), SizeIs(2));
  worker->routes()[1].calls = 5;
  worker->routes()[1].latency.record(1000);
  worker->header().sync = SyncState::kOn;
  EXPECT_EQ(agent->routes()[1].calls, 5U);
  EXPECT_GE(agent->routes()[1].latency.quantile(0.5), 1000U);
  EXPECT_EQ(agent->header().sync, SyncState::kOn);
}

TEST(Statistics, ASuccessorKnowsTheMountsThatWereMade) {
  using emulators::MountLedger;
  const auto statistics = Statistics::create(program_of_two());
  ASSERT_TRUE(statistics);
  MountLedger(statistics->mounts()).remember(42);
  const auto later = Statistics::map(duplicate(statistics->fd()));
  ASSERT_TRUE(later);
  MountLedger successors(later->mounts());
  EXPECT_TRUE(successors.has(42));
  EXPECT_FALSE(successors.has(43));
  successors.forget(42);
  EXPECT_FALSE(MountLedger(statistics->mounts()).has(42));
}

TEST(Statistics, TheirSizeIsSealed) {
  const auto statistics = Statistics::create(program_of_two());
  ASSERT_TRUE(statistics);
  EXPECT_NE(::ftruncate(statistics->fd(), 0), 0);
  EXPECT_NE(::ftruncate(statistics->fd(), 1U << 20U), 0);
}

TEST(Statistics, AMoveKeepsTheMapping) {
  auto made = Statistics::create(program_of_two());
  ASSERT_TRUE(made);
  Statistics moved = std::move(*made);
  moved.routes()[0].calls = 3;
  auto other = Statistics::create(emulators::Program{});
  ASSERT_TRUE(other);
  *other = std::move(moved);
  EXPECT_EQ(other->routes()[0].calls, 3U);
}

TEST(Statistics, ForeignMemoryIsRefused) {
  const UniqueFd empty = support::named_fd("empty");
  EXPECT_THAT(Statistics::map(duplicate(empty.get())).error().message, HasSubstr("too small"));

  const UniqueFd zeros = support::named_fd("zeros");
  ASSERT_EQ(::ftruncate(zeros.get(), 1 << 20), 0);
  EXPECT_THAT(Statistics::map(duplicate(zeros.get())).error().message,
              HasSubstr("another release"));

  EXPECT_FALSE(Statistics::map(UniqueFd()));
  EXPECT_FALSE(Statistics::map(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC))));
}

TEST(Statistics, ACountThatDoesNotFitTheirSizeIsRefused) {
  const auto statistics = Statistics::create(program_of_two());
  ASSERT_TRUE(statistics);
  for (const std::uint32_t routes : {0U, 1U, 3U, ~0U}) {
    statistics->header().routes = routes;
    EXPECT_FALSE(Statistics::map(duplicate(statistics->fd()))) << routes;
  }
  statistics->header().routes = 2;
  EXPECT_TRUE(Statistics::map(duplicate(statistics->fd())));
  ++statistics->header().version;
  EXPECT_FALSE(Statistics::map(duplicate(statistics->fd())));
}

}  // namespace
}  // namespace sidecall::worker
