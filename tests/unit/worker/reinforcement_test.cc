#include "worker/reinforcement.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <mutex>
#include <set>

#include "placement/placement.h"

namespace sidecall::worker {
namespace {

unsigned first_cpu() {
  const auto cpus = placement::own_cpus();
  unsigned cpu = 0;
  while (!cpus.has(cpu)) ++cpu;
  return cpu;
}

// What blocks until a signal comes, as RECV does.
class ReinforcementTest : public testing::Test {
 protected:
  ReinforcementTest() {
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &nothing, &before_);
  }
  ~ReinforcementTest() override { ::sigaction(SIGUSR1, &before_, nullptr); }

  Reinforcement::ServeOne make() {
    return [this] {
      const std::lock_guard lock(mutex_);
      cpus_.insert(placement::own_cpus().list());
      ++turns_;
      return next_;
    };
  }
  void wait_for_turns(int wanted) {
    while (turns() < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  int turns() {
    const std::lock_guard lock(mutex_);
    return turns_;
  }

  struct sigaction before_ {};
  std::mutex mutex_;
  int turns_ = 0;
  std::set<std::string> cpus_;
  Turn next_ = Turn::kServed;
};

TEST_F(ReinforcementTest, NobodyIsThereBeforeSomebodyIsSent) {
  const Reinforcement reinforcement([this] { return make(); });
  EXPECT_EQ(reinforcement.wanted(), 0U);
  EXPECT_EQ(reinforcement.served(), 0U);
}

TEST_F(ReinforcementTest, WhoIsSentServesOnItsCpuUntilRecalled) {
  Reinforcement reinforcement([this] { return make(); });
  const unsigned cpu = first_cpu();
  reinforcement.send_to(cpu);
  EXPECT_TRUE(reinforcement.has_on(cpu));
  EXPECT_FALSE(reinforcement.has_on(cpu + 1));
  wait_for_turns(10);
  EXPECT_GE(reinforcement.served(), 9U);
  reinforcement.recall();
  EXPECT_FALSE(reinforcement.has_on(cpu));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const int turns_then = turns();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(turns(), turns_then);
  EXPECT_EQ(cpus_, std::set<std::string>{std::to_string(cpu)});
}

TEST_F(ReinforcementTest, CanBeSentAgain) {
  Reinforcement reinforcement([this] { return make(); });
  for (int round = 0; round < 3; ++round) {
    const int before = turns();
    reinforcement.send_to(first_cpu());
    wait_for_turns(before + 1);
    reinforcement.recall();
  }
}

TEST_F(ReinforcementTest, WhoIsBlockedComesBackAtTheEnd) {
  Reinforcement reinforcement([this]() -> Reinforcement::ServeOne {
    return [this] {
      {
        const std::lock_guard lock(mutex_);
        ++turns_;
      }
      ::pause();
      return Turn::kNothing;
    };
  });
  for (int count = 0; count < 3; ++count) reinforcement.send_to(first_cpu());
  wait_for_turns(3);
  // Its destructor returns.
}

TEST_F(ReinforcementTest, NoMoreThanItsMost) {
  Reinforcement reinforcement([this] { return make(); });
  for (unsigned count = 0; count < Reinforcement::kMost + 3; ++count) {
    reinforcement.send_to(first_cpu());
  }
  EXPECT_EQ(reinforcement.wanted(), Reinforcement::kMost);
}

TEST_F(ReinforcementTest, WhoseListenerHasEndedGoesForGood) {
  next_ = Turn::kEnd;
  Reinforcement reinforcement([this] { return make(); });
  reinforcement.send_to(first_cpu());
  wait_for_turns(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(turns(), 1);
}

}  // namespace
}  // namespace sidecall::worker
