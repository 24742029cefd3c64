// The sched emulator beside fakes; tests/kernel/sched_test.cc asks the kernel.
#include "emulators/sched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>

#include <cstring>

#include "emulators/sched_limits.h"
#include "support/fake_actor.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"
#include "support/verdicts.h"

namespace sidecall::emulators {
namespace {

using support::continues;
using support::errno_of;
using support::succeeds;
using testing::IsEmpty;
using testing::SizeIs;

enum : unsigned { kSetscheduler, kSetparam, kSetattr, kSetpriority, kIoprioSet };

constexpr pid_t kOurs = 4711;
constexpr std::uint64_t kGarbage = 0xdead'beef'0000'0000;

class SchedTest : public testing::Test {
 protected:
  SchedTest() {
    auto made = sched_row().make({{"policies", std::vector<std::string>{"fifo"}},
                                  {"max_priority", std::int64_t{10}},
                                  {"min_nice", std::int64_t{-5}}});
    EXPECT_TRUE(made) << made.error().message;
    emulator_ = std::move(*made);
    helper_.emulator = emulator_.get();
    target_.threads = {{0, kOurs}, {7, kOurs + 7}};
  }
  template <typename T>
  std::uint64_t in_memory(const T& value) {
    address_ += 0x1000;
    target_.map(address_, {reinterpret_cast<const char*>(&value), sizeof value});
    return address_;
  }
  Verdict emulate(unsigned member, std::array<std::uint64_t, 6> args) {
    Environment environment{
        .target = target_, .sandbox = sandbox_, .actor = &actor_, .helper = &helper_};
    Outcome outcome = emulator_->emulate({.member = member, .args = args}, environment);
    EXPECT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(target_.anything_read_twice());
    return std::move(outcome).value_or(Gone{});
  }
  Verdict set(std::uint64_t thread, std::uint64_t policy, int priority) {
    return emulate(kSetscheduler, {thread, policy, in_memory(priority)});
  }

  std::uint64_t address_ = 0x1000;
  std::unique_ptr<Emulator> emulator_;
  support::FakeTarget target_;
  support::FakeActor actor_;
  support::FakeHelper helper_;
  support::FakeSandbox sandbox_;
  std::vector<std::pair<pid_t, kernel::Schedule>>& scheduled_ = helper_.host.scheduled;
};

TEST_F(SchedTest, SetsAPolicyWithinTheCeilings) {
  EXPECT_TRUE(succeeds(set(0, SCHED_FIFO, 10)));
  EXPECT_TRUE(succeeds(set(kGarbage | 7, kGarbage | SCHED_FIFO | 0x4000'0000, 1)));
  ASSERT_THAT(scheduled_, SizeIs(2));
  EXPECT_EQ(scheduled_[0].first, kOurs);
  EXPECT_EQ(scheduled_[0].second.policy, static_cast<std::uint32_t>(SCHED_FIFO));
  EXPECT_EQ(scheduled_[0].second.priority, 10U);
  EXPECT_FALSE(scheduled_[0].second.reset_on_fork);
  EXPECT_EQ(scheduled_[1].first, kOurs + 7);
  EXPECT_TRUE(scheduled_[1].second.reset_on_fork);
}

TEST_F(SchedTest, WhatIsBeyondTheCeilingsIsTheKernels) {
  EXPECT_TRUE(continues(set(0, SCHED_FIFO, 11)));
  EXPECT_TRUE(continues(set(0, SCHED_RR, 1)));
  EXPECT_TRUE(continues(set(0, 6, 0))) << "SCHED_DEADLINE";
  EXPECT_TRUE(continues(emulate(kSetpriority, {0, 0, static_cast<std::uint64_t>(-6)})));
  EXPECT_TRUE(continues(emulate(kIoprioSet, {1, 0, 1 << 13})));
  EXPECT_THAT(scheduled_, IsEmpty());
  EXPECT_THAT(helper_.host.niced, IsEmpty());
}

TEST_F(SchedTest, AParameterIsOfThePolicyThatIsThere) {
  helper_.host.current = {.policy = SCHED_FIFO, .reset_on_fork = true, .nice = 0, .priority = 2};
  EXPECT_TRUE(succeeds(emulate(kSetparam, {0, in_memory(9)})));
  ASSERT_THAT(scheduled_, SizeIs(1));
  EXPECT_EQ(scheduled_[0].second.policy, static_cast<std::uint32_t>(SCHED_FIFO));
  EXPECT_TRUE(scheduled_[0].second.reset_on_fork);
  EXPECT_EQ(scheduled_[0].second.priority, 9U);
  EXPECT_TRUE(continues(emulate(kSetparam, {0, in_memory(11)})));
}

TEST_F(SchedTest, APolicyKeepsTheNiceValueAndGoingLowerIsFree) {
  helper_.host.current = {.policy = SCHED_IDLE, .reset_on_fork = true, .nice = -20, .priority = 0};
  EXPECT_TRUE(succeeds(set(0, SCHED_OTHER, 0)));
  ASSERT_THAT(scheduled_, SizeIs(1));
  EXPECT_EQ(scheduled_[0].second.nice, -20);
  EXPECT_FALSE(scheduled_[0].second.reset_on_fork);
  EXPECT_TRUE(succeeds(set(0, SCHED_IDLE, 0)));
}

TEST_F(SchedTest, NiceValuesAreBroughtIntoRange) {
  EXPECT_TRUE(succeeds(emulate(kSetpriority, {0, 7, 1000})));
  EXPECT_TRUE(succeeds(emulate(kSetpriority, {0, 0, static_cast<std::uint64_t>(-5)})));
  EXPECT_THAT(helper_.host.niced,
              testing::ElementsAre(std::pair(kOurs + 7, 19), std::pair(kOurs, -5)));
}

TEST_F(SchedTest, GroupsOfProcessesAreTheKernels) {
  EXPECT_TRUE(continues(emulate(kSetpriority, {1, 0, 0})));
  EXPECT_TRUE(continues(emulate(kSetpriority, {2, 0, 0})));
  EXPECT_TRUE(continues(emulate(kIoprioSet, {2, 0, 2 << 13})));
  EXPECT_THAT(helper_.instances, IsEmpty());
}

TEST_F(SchedTest, WhoLacksTheRightIsTheKernels) {
  target_.caller.effective_capabilities = ~(1ULL << CAP_SYS_NICE);
  EXPECT_TRUE(continues(set(0, SCHED_FIFO, 1)));
  target_.caller.effective_capabilities = 1ULL << CAP_SYS_NICE;
  EXPECT_TRUE(succeeds(set(0, SCHED_FIFO, 1)));
  target_.in_sandbox = false;
  EXPECT_TRUE(continues(set(0, SCHED_FIFO, 1)));
}

TEST_F(SchedTest, BadArgumentsAreErrorsOrTheKernels) {
  EXPECT_EQ(errno_of(set(99, SCHED_FIFO, 1)), ESRCH);
  EXPECT_EQ(errno_of(emulate(kSetscheduler, {0, SCHED_FIFO, 16})), EFAULT);
  EXPECT_TRUE(continues(emulate(kSetscheduler, {0, SCHED_FIFO, 0})));
  EXPECT_TRUE(continues(set(static_cast<std::uint32_t>(-1), SCHED_FIFO, 1)));
  EXPECT_TRUE(continues(set(0, SCHED_FIFO, -1)));
  struct Attributes {
    std::uint32_t size = 48;
    std::uint32_t policy = SCHED_FIFO;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 1;
    std::array<std::uint64_t, 3> times{};
  };
  EXPECT_TRUE(succeeds(emulate(kSetattr, {0, in_memory(Attributes{}), 0})));
  EXPECT_TRUE(succeeds(emulate(kSetattr, {0, in_memory(Attributes{.size = 0}), 0})));
  EXPECT_TRUE(continues(emulate(kSetattr, {0, in_memory(Attributes{.size = 47}), 0})));
  EXPECT_TRUE(continues(emulate(kSetattr, {0, in_memory(Attributes{.flags = 2}), 0})));
  EXPECT_TRUE(continues(emulate(kSetattr, {0, in_memory(Attributes{}), 1})));
  EXPECT_THAT(scheduled_, SizeIs(2));
}

// A worker that has been taken over raises nothing beyond the ceilings.
TEST_F(SchedTest, TheHelperChecksThePolicyItself) {
  Step step;
  step.numbers = {0, kOurs, SCHED_FIFO, 0, 0, 11};
  EXPECT_EQ(emulator_->perform(step, helper_.host).error().value, EPERM);
  step.numbers = {3, kOurs, static_cast<std::uint64_t>(-6)};
  EXPECT_EQ(emulator_->perform(step, helper_.host).error().value, EPERM);
  step.numbers = {77, kOurs};
  EXPECT_EQ(emulator_->perform(step, helper_.host).error().value, EINVAL);
  EXPECT_THAT(scheduled_, IsEmpty());
}

TEST(SchedLimits, WrongOptionsAreNamed) {
  const auto error = [](const Options& options) {
    const auto limits = SchedLimits::parse(options);
    return limits ? "" : limits.error().message;
  };
  EXPECT_THAT(error({{"policies", std::vector<std::string>{"deadline"}}}),
              testing::StartsWith("policies: \"deadline\""));
  EXPECT_THAT(error({{"max_priority", std::int64_t{5}}}), testing::StartsWith("max_priority:"));
  EXPECT_THAT(
      error({{"policies", std::vector<std::string>{"rr"}}, {"max_priority", std::int64_t{100}}}),
      testing::StartsWith("max_priority:"));
  EXPECT_THAT(error({{"min_nice", std::int64_t{-21}}}), testing::StartsWith("min_nice:"));
  EXPECT_EQ(error({}), "");
}

}  // namespace
}  // namespace sidecall::emulators
