#include "agent/busy_watch.h"

#include <gtest/gtest.h>

namespace sidecall::agent {
namespace {

TEST(BusyWatch, ManyCallsBetweenTwoLooksAreBusy) {
  BusyWatch watch;
  EXPECT_FALSE(watch.is_busy());
  EXPECT_FALSE(watch.note(BusyWatch::kMany - 1));
  EXPECT_FALSE(watch.note(2 * BusyWatch::kMany - 2)) << "what counts is what has come since";
  EXPECT_TRUE(watch.note(3 * BusyWatch::kMany));
  EXPECT_TRUE(watch.is_busy());
}

TEST(BusyWatch, AMomentWithoutCallsDoesNotEndIt) {
  BusyWatch watch;
  std::uint64_t calls = BusyWatch::kMany;
  EXPECT_TRUE(watch.note(calls));
  for (int look = 1; look < BusyWatch::kPatience; ++look) EXPECT_TRUE(watch.note(calls));
  calls += BusyWatch::kFew;
  EXPECT_TRUE(watch.note(calls));
  for (int look = 1; look < BusyWatch::kPatience; ++look) EXPECT_TRUE(watch.note(calls));
  EXPECT_FALSE(watch.note(calls));
}

}  // namespace
}  // namespace sidecall::agent
