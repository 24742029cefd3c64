// Mode "perform". What is refused before is in clock_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>

#include <cstring>

#include "emulators/clock.h"
#include "support/fake_actor.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"

namespace sidecall::emulators {
namespace {

using kernel::Abi;
using testing::IsEmpty;
using testing::SizeIs;

// Indices into the row's members.
enum : unsigned { kClockSettime, kSettimeofday, kAdjtimex, kClockAdjtime };
constexpr unsigned kStime = 6;

constexpr std::uint64_t kAddress = 0x7000;
constexpr std::uint64_t kZone = 0x9000;
constexpr std::int64_t kLater = 4'000'000'000;  // in the year 2096

std::unique_ptr<Emulator> clock_of(const std::string& mode) {
  auto made = clock_row().make({{"mode", mode}});
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

class ClockPerformTest : public testing::Test {
 protected:
  ClockPerformTest() { helper_.emulator = emulator_.get(); }

  template <typename T>
  void put(const T& value, std::uint64_t address = kAddress) {
    target_.map(address, {reinterpret_cast<const char*>(&value), sizeof value});
  }
  // "continue", "ok 0" or an errno's name.
  std::string answer(unsigned member, std::uint64_t first, std::uint64_t second = 0) {
    Environment environment{
        .target = target_, .sandbox = sandbox_, .helper = &helper_, .made_before = made_before_};
    const Outcome outcome =
        emulator_->emulate({.member = member, .args = {first, second}}, environment);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (std::holds_alternative<Continue>(*outcome)) return "continue";
    if (const auto* value = std::get_if<Value>(&*outcome)) {
      return "ok " + std::to_string(value->value);
    }
    return errno_name(std::get<Errno>(*outcome).value);
  }

  std::unique_ptr<Emulator> emulator_ = clock_of("perform");
  support::FakeTarget target_;
  support::FakeSandbox sandbox_;
  support::FakeHelper helper_;
  support::FakeHost& host_ = helper_.host;
  bool made_before_ = false;
};

TEST_F(ClockPerformTest, SetsTheTime) {
  put(timespec{.tv_sec = kLater, .tv_nsec = 123'456'789});
  EXPECT_EQ(answer(kClockSettime, CLOCK_REALTIME, kAddress), "ok 0");
  ASSERT_THAT(host_.times, SizeIs(1));
  EXPECT_EQ(host_.times[0].tv_sec, kLater);
  EXPECT_EQ(host_.times[0].tv_nsec, 123'456'789);
  EXPECT_THAT(host_.zones, IsEmpty());
}

TEST_F(ClockPerformTest, SetsTheTimeOfDayAndTheZone) {
  put(timespec{.tv_sec = kLater, .tv_nsec = 999'999});
  put(std::array<std::int32_t, 2>{-60, 1}, kZone);
  EXPECT_EQ(answer(kSettimeofday, kAddress, kZone), "ok 0");
  ASSERT_THAT(host_.times, SizeIs(1));
  EXPECT_EQ(host_.times[0].tv_nsec, 999'999'000);
  ASSERT_THAT(host_.zones, SizeIs(1));
  EXPECT_EQ(host_.zones[0].tz_minuteswest, -60);
  EXPECT_EQ(host_.zones[0].tz_dsttime, 1);
  EXPECT_EQ(answer(kSettimeofday, 0, kZone), "ok 0");
  EXPECT_THAT(host_.times, SizeIs(1)) << "the zone alone";
  EXPECT_THAT(host_.zones, SizeIs(2));
}

TEST_F(ClockPerformTest, StimeDoesNotTellWhatCameOfIt) {
  put(std::int32_t{2'000'000'000});
  EXPECT_EQ(answer(kStime, kAddress), "ok 0");
  ASSERT_THAT(host_.times, SizeIs(1));
  EXPECT_EQ(host_.times[0].tv_sec, 2'000'000'000);
  host_.failure = EINVAL;
  EXPECT_EQ(answer(kStime, kAddress), "ok 0");
}

TEST_F(ClockPerformTest, Adjusts) {
  host_.clock_state = TIME_ERROR;
  timex wishes{};
  wishes.modes = ADJ_OFFSET;
  wishes.offset = 42;
  put(wishes);
  EXPECT_EQ(answer(kAdjtimex, kAddress), "ok " + std::to_string(TIME_ERROR));
  EXPECT_EQ(answer(kClockAdjtime, CLOCK_REALTIME, kAddress), "ok " + std::to_string(TIME_ERROR));
  ASSERT_THAT(host_.adjustments, SizeIs(2));
  EXPECT_EQ(host_.adjustments[0].modes, unsigned{ADJ_OFFSET});
  EXPECT_EQ(host_.adjustments[0].offset, 42);
  timex told{};
  std::memcpy(&told, target_.bytes_at(kAddress, sizeof told).data(), sizeof told);
  EXPECT_EQ(told.tai, 37) << "what the helper has filled in";
}

TEST_F(ClockPerformTest, WhatASignalTookTheAnswerOfIsDoneOnce) {
  made_before_ = true;
  timex wishes{};
  wishes.modes = ADJ_OFFSET;
  wishes.offset = 42;
  put(wishes);
  EXPECT_THAT(answer(kAdjtimex, kAddress), testing::StartsWith("ok "));
  EXPECT_THAT(host_.adjustments, IsEmpty());
  put(timespec{.tv_sec = kLater, .tv_nsec = 0});
  EXPECT_EQ(answer(kClockSettime, CLOCK_REALTIME, kAddress), "ok 0");
  EXPECT_EQ(answer(kStime, kAddress), "ok 0");
  EXPECT_THAT(host_.times, IsEmpty());
}

TEST_F(ClockPerformTest, TheHelpersErrnoIsTheCallers) {
  host_.failure = EPERM;
  put(timespec{.tv_sec = kLater, .tv_nsec = 0});
  EXPECT_EQ(answer(kClockSettime, CLOCK_REALTIME, kAddress), "EPERM");
  timex wishes{};
  wishes.modes = ADJ_OFFSET;
  put(wishes);
  EXPECT_EQ(answer(kClockAdjtime, CLOCK_REALTIME, kAddress), "EPERM");
}

TEST_F(ClockPerformTest, WhatTheKernelRefusesIsNotAskedFor) {
  put(timespec{.tv_sec = kLater, .tv_nsec = -1});
  EXPECT_EQ(answer(kClockSettime, CLOCK_REALTIME, kAddress), "EINVAL");
  put(timespec{.tv_sec = kLater, .tv_nsec = 0});
  EXPECT_EQ(answer(kClockSettime, CLOCK_MONOTONIC, kAddress), "continue");
  target_.caller.effective_capabilities = ~(1ULL << CAP_SYS_TIME);
  EXPECT_EQ(answer(kClockSettime, CLOCK_REALTIME, kAddress), "continue");
  EXPECT_EQ(answer(kStime, kAddress), "continue");
  target_.caller.effective_capabilities = ~0ULL;
  target_.in_sandbox = false;
  EXPECT_EQ(answer(kSettimeofday, kAddress), "continue");
  EXPECT_THAT(helper_.instances, IsEmpty());
}

TEST_F(ClockPerformTest, AMalformedStepIsRefused) {
  for (const std::uint64_t what : {1U, 2U}) {
    Step step;
    step.numbers[0] = what;
    EXPECT_EQ(emulator_->perform(step, host_).error().value, EINVAL) << what;
  }
  EXPECT_THAT(host_.adjustments, IsEmpty());
}

// Whatever the emulator did wrong, the clock would stay.
TEST(ClockRights, AreTheHostsOnlyWhereTheyAreListed) {
  constexpr std::uint64_t kSysTime = 1ULL << CAP_SYS_TIME;
  support::FakeHost host;
  for (const char* mode : {"pretend", "errno"}) {
    const auto emulator = clock_of(mode);
    EXPECT_EQ(emulator->further_rights().capabilities, 0U);
    EXPECT_EQ(emulator->further_rights().host_capabilities, 0U);
    EXPECT_EQ(emulator->perform(Step{}, host).error().value, EPERM);
  }
  const Rights rights = clock_of("perform")->further_rights();
  EXPECT_EQ(rights.host_capabilities, kSysTime);
  EXPECT_EQ(rights.capabilities & kSysTime, 0U);
  EXPECT_EQ(rights.needs, Needs::kFiles);
}

}  // namespace
}  // namespace sidecall::emulators
