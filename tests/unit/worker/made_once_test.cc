#include "worker/made_once.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sidecall::worker {
namespace {

kernel::Notification call_of(pid_t tid, std::uint64_t id, std::uint64_t argument = 7) {
  return {.id = id, .tid = tid, .arch = 1, .nr = 133, .args = {argument}};
}

TEST(MadeOnce, AnAnsweredCallIsNotRemembered) {
  MadeOnce made;
  EXPECT_FALSE(made.begin(call_of(10, 1)));
  made.end(call_of(10, 1), true, true);
  EXPECT_FALSE(made.begin(call_of(10, 2)));
}

TEST(MadeOnce, AnOrphanIsToldToTheSameCallOfItsThreadOnce) {
  MadeOnce made;
  EXPECT_FALSE(made.begin(call_of(10, 1)));
  made.end(call_of(10, 1), true, false);
  EXPECT_FALSE(made.begin(call_of(11, 2))) << "another thread's";
  EXPECT_TRUE(made.begin(call_of(10, 3)));
  made.end(call_of(10, 3), true, true);
  EXPECT_FALSE(made.begin(call_of(10, 4)));
}

TEST(MadeOnce, AnotherCallOfTheThreadForgetsIt) {
  MadeOnce made;
  EXPECT_FALSE(made.begin(call_of(10, 1)));
  made.end(call_of(10, 1), true, false);
  EXPECT_FALSE(made.begin(call_of(10, 2, 8)));
  made.end(call_of(10, 2, 8), true, true);
  EXPECT_FALSE(made.begin(call_of(10, 3)));
}

TEST(MadeOnce, ASecondWaitsForTheFirstOfItsThread) {
  MadeOnce made;
  EXPECT_FALSE(made.begin(call_of(10, 1)));
  std::atomic<bool> is_told = false;
  std::thread second([&] {
    EXPECT_TRUE(made.begin(call_of(10, 2)));
    is_told = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_told);
  made.end(call_of(10, 1), true, false);
  second.join();
}

// It had been queued behind the call that its thread made after it.
TEST(MadeOnce, ACallThatComesToNothingForgetsNoOrphan) {
  MadeOnce made;
  EXPECT_FALSE(made.begin(call_of(10, 2)));
  made.end(call_of(10, 2), true, false);
  EXPECT_TRUE(made.begin(call_of(10, 1)));
  made.end(call_of(10, 1), false, false);
  EXPECT_TRUE(made.begin(call_of(10, 3)));
}

TEST(MadeOnce, KeepsNoMoreThanItMay) {
  MadeOnce made;
  for (pid_t tid = 1; tid <= 100; ++tid) {
    EXPECT_FALSE(made.begin(call_of(tid, static_cast<std::uint64_t>(tid))));
    made.end(call_of(tid, static_cast<std::uint64_t>(tid)), true, false);
  }
  EXPECT_FALSE(made.begin(call_of(1, 1001)));
  EXPECT_TRUE(made.begin(call_of(100, 1002)));
}

}  // namespace
}  // namespace sidecall::worker
