#include "agent/backoff.h"

#include <gtest/gtest.h>

namespace sidecall::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Backoff::Clock::time_point kStart{seconds{1000}};

TEST(Backoff, FiveDeathsInTenSecondsAreReplacedAtOnce) {
  Backoff backoff(5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(backoff.after_death(kStart + seconds{i}), seconds{0});
}

TEST(Backoff, MoreOfThemWaitLongerAndLongerUpToFiveSeconds) {
  Backoff backoff(5);
  auto now = kStart;
  for (int i = 0; i < 5; ++i) static_cast<void>(backoff.after_death(now));
  for (const int expected : {100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000}) {
    const auto delay = backoff.after_death(now);
    EXPECT_EQ(delay, milliseconds{expected});
    now += delay;
  }
}

TEST(Backoff, ACalmTimeIsARecovery) {
  Backoff backoff(5);
  for (int i = 0; i < 8; ++i) static_cast<void>(backoff.after_death(kStart));
  EXPECT_EQ(backoff.after_death(kStart + seconds{60}), seconds{0});
}

TEST(Backoff, RareDeathsNeverWait) {
  Backoff backoff(5);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(backoff.after_death(kStart + seconds{3} * i), seconds{0});
}

TEST(Backoff, HowManyAreFreeIsItsOwnersToSay) {
  Backoff backoff(2);
  EXPECT_EQ(backoff.after_death(kStart), milliseconds{0});
  EXPECT_EQ(backoff.after_death(kStart), milliseconds{0});
  EXPECT_EQ(backoff.after_death(kStart), milliseconds{100});
}

}  // namespace
}  // namespace sidecall::agent
