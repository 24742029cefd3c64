#include "emulators/clock.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/timex.h>

#include <array>
#include <cstring>

#include "emulators/timex32.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"

namespace sidecall::emulators {
namespace {

using kernel::Abi;
using support::Look;

// Indices into the row's members.
enum : unsigned {
  kClockSettime,
  kSettimeofday,
  kAdjtimex,
  kClockAdjtime,
  kClockSettime64,
  kClockAdjtime64,
  kStime,
};
constexpr std::array kSetting = {kClockSettime, kSettimeofday, kClockSettime64, kStime};
constexpr std::array kAdjusting = {kAdjtimex, kClockAdjtime, kClockAdjtime64};

constexpr std::uint64_t kAddress = 0x7000;
constexpr std::uint64_t kZone = 0x9000;
constexpr std::int64_t kLater = 4'000'000'000;  // in the year 2096: any machine's clock can be that

struct Time64 {
  std::int64_t seconds;
  std::int64_t fraction;
};
struct Time32 {
  std::int32_t seconds;
  std::int32_t fraction;
};
struct Zone {
  std::int32_t minutes;
  std::int32_t saving;
};

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

class ClockTest : public testing::Test {
 protected:
  ClockTest() { choose({{"mode", std::string("pretend")}}); }

  void choose(const Options& options) {
    auto made = clock_row().make(options);
    ASSERT_TRUE(made) << made.error().message;
    emulator_ = std::move(*made);
  }
  template <typename T>
  void put(const T& value, std::uint64_t address = kAddress, bool writable = true) {
    target_.map(address, bytes_of(value), writable);
  }
  // "continue", "ok 0" or an errno's name.
  std::string answer(unsigned member, std::uint64_t first, std::uint64_t second = 0,
                     Abi abi = Abi::kX86_64) {
    Environment environment{.target = target_, .sandbox = sandbox_};
    const Outcome outcome =
        emulator_->emulate({.abi = abi, .member = member, .args = {first, second}}, environment);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (std::holds_alternative<Continue>(*outcome)) return "continue";
    if (const auto* value = std::get_if<Value>(&*outcome)) {
      return "ok " + std::to_string(value->value);
    }
    return errno_name(std::get<Errno>(*outcome).value);
  }
  // The member's call with its pointer in the register where it has it.
  std::string answer_at(unsigned member, std::uint64_t address, Abi abi = Abi::kX86_64) {
    const bool first = member == kSettimeofday || member == kAdjtimex || member == kStime;
    return first ? answer(member, address, 0, abi) : answer(member, CLOCK_REALTIME, address, abi);
  }
  std::string settime(std::int64_t seconds, std::int64_t nanoseconds) {
    put(Time64{seconds, nanoseconds});
    return answer_at(kClockSettime, kAddress);
  }
  std::string settimeofday(std::int64_t seconds, std::int64_t microseconds,
                           std::uint64_t zone = 0) {
    put(Time64{seconds, microseconds});
    return answer(kSettimeofday, kAddress, zone);
  }

  std::unique_ptr<Emulator> emulator_;
  support::FakeTarget target_;
  support::FakeSandbox sandbox_;
};

TEST_F(ClockTest, PretendsToSet) {
  EXPECT_EQ(settime(kLater, 999'999'999), "ok 0");
  EXPECT_EQ(settimeofday(kLater, 999'999), "ok 0");
  EXPECT_EQ(answer(kSettimeofday, 0, 0), "ok 0") << "nothing to set";
  put(Zone{-60, 1}, kZone);
  EXPECT_EQ(settimeofday(kLater, 0, kZone), "ok 0");
  EXPECT_EQ(answer(kSettimeofday, 0, kZone), "ok 0");
}

TEST_F(ClockTest, RefusesTimesThatTheKernelDoes) {
  EXPECT_EQ(settime(-1, 0), "EINVAL");
  EXPECT_EQ(settime(kLater, -1), "EINVAL");
  EXPECT_EQ(settime(kLater, 1'000'000'000), "EINVAL");
  EXPECT_EQ(settime(INT64_MAX, 0), "EINVAL");
  EXPECT_EQ(settime(0, 0), "EINVAL") << "before the machine started";
  EXPECT_EQ(settimeofday(-1, 0), "EINVAL");
  EXPECT_EQ(settimeofday(kLater, -1), "EINVAL");
  EXPECT_EQ(settimeofday(kLater, 1'000'000), "EINVAL");
  EXPECT_EQ(settimeofday(0, 0), "EINVAL");
  put(Zone{901, 0}, kZone);
  EXPECT_EQ(settimeofday(kLater, 0, kZone), "EINVAL");
}

TEST_F(ClockTest, LooksAtTheZoneAfterTheMicrosecondsAndBeforeTheSeconds) {
  EXPECT_EQ(settimeofday(kLater, 1'000'000, 0xdead), "EINVAL");
  EXPECT_EQ(settimeofday(kLater, -1, 0xdead), "EINVAL");
  EXPECT_EQ(settimeofday(-1, 0, 0xdead), "EFAULT");
}

TEST_F(ClockTest, WhatCannotBeReadIsEfault) {
  for (const unsigned member : kSetting) {
    // settimeofday(2) takes a null pointer for nothing.
    EXPECT_EQ(answer_at(member, 0), member == kSettimeofday ? "ok 0" : "EFAULT") << member;
    EXPECT_EQ(answer_at(member, 0xdead000), "EFAULT") << member;
  }
  for (const unsigned member : kAdjusting) EXPECT_EQ(answer_at(member, 0), "EFAULT") << member;
  put(std::array<char, 15>{});
  EXPECT_EQ(answer_at(kClockSettime, kAddress), "EFAULT");
  EXPECT_EQ(answer_at(kSettimeofday, kAddress), "EFAULT");
  put(std::array<char, sizeof(timex) - 1>{});
  EXPECT_EQ(answer_at(kAdjtimex, kAddress), "EFAULT");
}

TEST_F(ClockTest, OtherClocksStayWithTheKernelUnseen) {
  for (const unsigned member : {kClockSettime, kClockSettime64, kClockAdjtime, kClockAdjtime64}) {
    for (const std::uint64_t clock : {1U, 11U, 0xfffffffbU}) {
      EXPECT_EQ(answer(member, clock, 0), "continue") << member;
    }
    EXPECT_EQ(answer(member, 0xdead'0000'0000, 0), "EFAULT") << "the upper half does not count";
  }
  EXPECT_EQ(target_.looks(Look::kCredentials), 0);
}

TEST_F(ClockTest, WhoMayNotSetTheClockIsLeftToTheKernel) {
  timex wishes{};
  wishes.modes = ADJ_TAI;
  put(wishes);
  put(Zone{901, 0}, kZone);
  const auto all_are_left = [&] {
    for (const unsigned member : kAdjusting) {
      EXPECT_EQ(answer_at(member, kAddress), "continue") << member;
    }
    EXPECT_EQ(settime(kLater, 0), "continue");
    EXPECT_EQ(settime(0, 0), "continue") << "refused for that only";
    EXPECT_EQ(settimeofday(kLater, 0), "continue");
    EXPECT_EQ(settimeofday(kLater, 0, kZone), "continue") << "refused for that only";
    EXPECT_EQ(answer_at(kStime, kAddress), "continue");
    put(wishes);
  };
  target_.in_sandbox = false;
  all_are_left();
  target_.in_sandbox = true;
  target_.caller.effective_capabilities = ~(1ULL << CAP_SYS_TIME);
  all_are_left();
  EXPECT_EQ(target_.looks(Look::kWrite), 0);
}

TEST_F(ClockTest, ACallerThatHasGoneIsToldAsSuch) {
  for (const Look look : {Look::kRead, Look::kCredentials, Look::kUserNamespace}) {
    target_.fail(look, ESRCH);
    EXPECT_EQ(settime(kLater, 0), "ESRCH") << static_cast<int>(look);
    target_.fail(look, 0);
  }
}

TEST_F(ClockTest, A32BitCallerHasItsOwnLayouts) {
  put(Time32{INT32_MAX, 999'999'999});
  EXPECT_EQ(answer_at(kClockSettime, kAddress, Abi::kI386), "ok 0");
  put(Time32{INT32_MAX, -1});
  EXPECT_EQ(answer_at(kClockSettime, kAddress, Abi::kI386), "EINVAL");
  put(Time32{-1, 0});
  EXPECT_EQ(answer_at(kClockSettime, kAddress, Abi::kI386), "EINVAL");
  EXPECT_EQ(answer_at(kSettimeofday, kAddress, Abi::kI386), "EINVAL");
  put(Time32{INT32_MAX, 999'999});
  EXPECT_EQ(answer_at(kSettimeofday, kAddress, Abi::kI386), "ok 0");
  // Sixteen bytes, of whose last four a 32-bit caller's C library fills none.
  put(Time64{kLater, static_cast<std::int64_t>(0xeeee'eeee'0000'0007ULL)});
  EXPECT_EQ(answer_at(kClockSettime64, kAddress, Abi::kI386), "ok 0");
  put(Time64{kLater, 1'000'000'000});
  EXPECT_EQ(answer_at(kClockSettime64, kAddress, Abi::kI386), "EINVAL");
}

TEST_F(ClockTest, StimeSucceedsWhateverTheTime) {
  for (const std::int32_t seconds : {0, -1, INT32_MAX}) {
    put(seconds);
    EXPECT_EQ(answer_at(kStime, kAddress, Abi::kI386), "ok 0") << seconds;
  }
}

TEST_F(ClockTest, ReadingTheStateIsTheKernels) {
  for (const std::uint32_t modes : {0U, std::uint32_t{ADJ_OFFSET_SS_READ}, 0x8000U}) {
    timex wishes{};
    wishes.modes = modes;
    put(wishes);
    for (const unsigned member : kAdjusting) {
      EXPECT_EQ(answer_at(member, kAddress), "continue") << modes;
    }
  }
}

// Every field is the kernel's, but for the caller's modes and padding.
TEST_F(ClockTest, AnAdjustmentGetsTheStateAsItIs) {
  for (const unsigned member : kAdjusting) {
    target_.map(kAddress, std::string(sizeof(timex), '\xee') + "guard");
    const std::uint32_t modes = ADJ_TAI | ADJ_STATUS | ADJ_OFFSET;
    put(modes);
    timex host{};
    const int state = ::adjtimex(&host);
    EXPECT_EQ(answer_at(member, kAddress), "ok " + std::to_string(state)) << member;
    timex told{};
    const std::string bytes = target_.bytes_at(kAddress, sizeof told);
    std::memcpy(&told, bytes.data(), sizeof told);
    EXPECT_EQ(told.modes, modes);
    EXPECT_EQ(told.tick, host.tick);
    EXPECT_EQ(told.precision, host.precision);
    EXPECT_EQ(told.tolerance, host.tolerance);
    EXPECT_EQ(told.status, host.status);
    EXPECT_EQ(told.tai, host.tai);
    EXPECT_EQ(bytes.substr(4, 4), std::string(4, '\xee')) << "behind modes";
    EXPECT_EQ(bytes.substr(164), std::string(44, '\xee')) << "behind tai";
    EXPECT_EQ(target_.bytes_at(kAddress + sizeof told, 5), "guard");
  }
}

TEST_F(ClockTest, A32BitCallersAdjustmentIsNarrow) {
  for (const unsigned member : {kAdjtimex, kClockAdjtime}) {
    target_.map(kAddress, std::string(sizeof(Timex32), '\xee') + "guard");
    put(std::uint32_t{ADJ_TAI});
    EXPECT_TRUE(answer_at(member, kAddress, Abi::kI386).starts_with("ok ")) << member;
    Timex32 told{};
    const std::string bytes = target_.bytes_at(kAddress, sizeof told);
    std::memcpy(&told, bytes.data(), sizeof told);
    EXPECT_EQ(told.modes, std::uint32_t{ADJ_TAI});
    EXPECT_EQ(told.precision, 1);
    EXPECT_EQ(bytes.substr(84), std::string(44, '\0')) << "behind tai";
    EXPECT_EQ(target_.bytes_at(kAddress + sizeof told, 5), "guard");
  }
  target_.map(kAddress, std::string(sizeof(timex), '\xee'));
  put(std::uint32_t{ADJ_TAI});
  EXPECT_TRUE(answer_at(kClockAdjtime64, kAddress, Abi::kI386).starts_with("ok "));
  EXPECT_EQ(target_.bytes_at(kAddress + 4, 4), std::string(4, '\xee')) << "the wide layout";
}

TEST_F(ClockTest, RefusesAdjustmentsThatTheKernelDoes) {
  timex wishes{};
  wishes.modes = ADJ_TICK;
  wishes.tick = 1;
  put(wishes);
  for (const unsigned member : kAdjusting) {
    EXPECT_EQ(answer_at(member, kAddress), "EINVAL") << member;
  }
  wishes.modes = ADJ_SETOFFSET;
  wishes.time = {.tv_sec = INT64_MIN, .tv_usec = 0};
  put(wishes);
  EXPECT_EQ(answer_at(kAdjtimex, kAddress), "EINVAL");
  EXPECT_EQ(target_.bytes_at(kAddress, sizeof wishes), bytes_of(wishes)) << "nothing else in it";
}

TEST_F(ClockTest, OnlyAdjtimexWritesBackWhatItRefuses) {
  timex wishes{};
  wishes.modes = ADJ_TICK;
  put(wishes, kAddress, false);
  EXPECT_EQ(answer_at(kAdjtimex, kAddress), "EFAULT");
  EXPECT_EQ(answer_at(kClockAdjtime, kAddress), "EINVAL");
  wishes.modes = ADJ_TAI;
  put(wishes, kAddress, false);
  EXPECT_EQ(answer_at(kClockAdjtime, kAddress), "EFAULT");
}

TEST_F(ClockTest, TheErrorOfChoiceComesAfterWhatCannotBeRead) {
  choose({{"mode", std::string("errno")}, {"errno", std::string("ENOSYS")}});
  timex wishes{};
  put(wishes);
  for (const unsigned member : kAdjusting) {
    EXPECT_EQ(answer_at(member, 0), "EFAULT") << member;
    EXPECT_EQ(answer_at(member, kAddress), "continue") << "reading";
  }
  wishes.modes = ADJ_TAI;
  put(wishes);
  target_.caller.effective_capabilities = 0;
  for (const unsigned member : kAdjusting) EXPECT_EQ(answer_at(member, kAddress), "ENOSYS");
  for (const unsigned member : kSetting) EXPECT_EQ(answer_at(member, 0), "ENOSYS") << member;
}

}  // namespace
}  // namespace sidecall::emulators
