#include "worker/load_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::worker {
namespace {

using Advice = LoadWatch::Advice;

class LoadWatchTest : public testing::Test {
 protected:
  // A window of calls from `callers` threads in turn, of which so many serve beside the first.
  Advice window(int callers, unsigned further, unsigned most) {
    Advice advice = Advice::kStay;
    for (unsigned call = 0; call < LoadWatch::kWindow; ++call) {
      EXPECT_EQ(advice, Advice::kStay) << "before the window is over";
      advice = watch_.note(
          1000 + static_cast<pid_t>(call) % callers, further, most,
          [&] {
            ++looks_;
            return another_waits_;
          },
          [&] { return served_by_others_; });
    }
    EXPECT_TRUE(watch_.is_window_over());
    return advice;
  }

  LoadWatch watch_;
  bool another_waits_ = false;
  std::uint64_t served_by_others_ = 0;
  int looks_ = 0;
};

TEST_F(LoadWatchTest, ALoneCallerCostsNoLook) {
  another_waits_ = true;
  EXPECT_EQ(window(1, 0, 3), Advice::kStay);
  EXPECT_LE(looks_, 1);
}

TEST_F(LoadWatchTest, CallersThatHaveToWaitAskForMore) {
  EXPECT_EQ(window(2, 0, 1), Advice::kStay) << "they take turns, and none waits";
  another_waits_ = true;
  EXPECT_EQ(window(2, 0, 1), Advice::kGrow);
}

TEST_F(LoadWatchTest, WhereThereMayBeNoMoreNobodyLooks) {
  another_waits_ = true;
  EXPECT_EQ(window(2, 0, 0), Advice::kStay);
  EXPECT_EQ(looks_, 0);
}

TEST_F(LoadWatchTest, OthersThatServeTheirShareStay) {
  served_by_others_ += LoadWatch::kWindow;
  EXPECT_EQ(window(1, 1, 1), Advice::kStay);
  served_by_others_ += LoadWatch::kWindow / LoadWatch::kIdleShare;
  EXPECT_EQ(window(1, 1, 1), Advice::kStay);
}

TEST_F(LoadWatchTest, OthersThatServeNextToNothingAreRecalled) {
  served_by_others_ += LoadWatch::kWindow / LoadWatch::kIdleShare - 1;
  EXPECT_EQ(window(1, 1, 1), Advice::kShrink);
}

TEST_F(LoadWatchTest, KnowsWhoCalledLast) {
  window(3, 0, 1);
  EXPECT_THAT(watch_.callers(), testing::Contains(1000));
  EXPECT_THAT(watch_.callers(), testing::Contains(1001));
  EXPECT_THAT(watch_.callers(), testing::Contains(1002));
}

}  // namespace
}  // namespace sidecall::worker
