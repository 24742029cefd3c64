#include "agent/log_limit.h"

#include <gtest/gtest.h>

namespace sidecall::agent {
namespace {

using std::chrono::milliseconds;

TEST(LogLimit, LetsSoManyThroughAtOnceAndThenSoManyASecond) {
  LogLimit limit({.at_once = 3, .a_second = 10});
  LogLimit::Clock::time_point now{};
  for (int line = 0; line < 3; ++line) EXPECT_TRUE(limit.take("a", now).passes);
  EXPECT_FALSE(limit.take("a", now).passes);
  EXPECT_FALSE(limit.take("a", now + milliseconds{50}).passes);
  const auto verdict = limit.take("a", now + milliseconds{150});
  EXPECT_TRUE(verdict.passes);
  EXPECT_EQ(verdict.left_out, 2U);
  EXPECT_FALSE(limit.take("a", now + milliseconds{160}).passes);
}

TEST(LogLimit, KeysHaveAnAllowanceEach) {
  LogLimit limit({.at_once = 1, .a_second = 1});
  const LogLimit::Clock::time_point now{};
  EXPECT_TRUE(limit.take("a", now).passes);
  EXPECT_FALSE(limit.take("a", now).passes);
  EXPECT_TRUE(limit.take("b", now).passes);
}

TEST(LogLimit, AKeyThatIsForgottenHadNothingToRemember) {
  LogLimit limit({.at_once = 1, .a_second = 1});
  LogLimit::Clock::time_point now{};
  EXPECT_TRUE(limit.take("a", now).passes);
  for (int key = 0; key < 3000; ++key) EXPECT_TRUE(limit.take(std::to_string(key), now).passes);
  EXPECT_FALSE(limit.take("a", now).passes) << "it still owes";
}

}  // namespace
}  // namespace sidecall::agent
