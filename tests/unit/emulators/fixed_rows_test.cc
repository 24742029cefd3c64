// The rows that the filter answers by itself: which of their calls, and how.
#include <gtest/gtest.h>

#include <algorithm>

#include "emulators/chown.h"
#include "emulators/clock.h"
#include "emulators/reboot.h"
#include "emulators/swap.h"

namespace sidecall::emulators {
namespace {

using Registers = std::array<std::uint64_t, 6>;

constexpr std::uint64_t kGarbage = 0xdead'beef'0000'0000;

const Options kPretend = {{"mode", std::string("pretend")}};
const Options kErrno = {{"mode", std::string("errno")}, {"errno", std::string("ENOSYS")}};

// Whether the row has a word on the call.
bool is_answered(const Row& row, std::string_view syscall, const Registers& args) {
  const auto member = std::ranges::find(row.members, syscall, &Member::syscall);
  if (member == row.members.end()) return false;
  return member->notify.empty() || std::ranges::any_of(member->notify, [&](const Conditions& each) {
           return hold(each, args);
         });
}

// The errno that every member gets from the filter; 0: success.
void expect_fixed(const Row& row, const Options& options, int errno_value) {
  for (std::size_t member = 0; member < row.members.size(); ++member) {
    const auto answer = row.fixed(options, member);
    ASSERT_TRUE(answer) << row.members[member].syscall;
    EXPECT_EQ(answer->errno_value, errno_value) << row.members[member].syscall;
  }
}

TEST(FixedRows, NeedNoCapability) {
  for (const Row& row : {chown_row(), swap_row(), reboot_row()}) {
    EXPECT_EQ(row.rights.capabilities, 0U) << row.name;
    EXPECT_EQ(row.rights.needs, Needs::kRegisters) << row.name;
  }
}

TEST(FixedRows, AnswerAsTheirModeSays) {
  expect_fixed(chown_row(), kPretend, 0);
  expect_fixed(swap_row(), kPretend, 0);
  expect_fixed(swap_row(), kErrno, ENOSYS);
  expect_fixed(reboot_row(), kPretend, 0);
  expect_fixed(reboot_row(), kErrno, ENOSYS);
}

TEST(FixedRows, RefuseModesThatTheyLack) {
  EXPECT_FALSE(chown_row().make(kErrno));
  EXPECT_FALSE(chown_row().fixed(kErrno, 0));
  for (const Row& row : {chown_row(), clock_row(), swap_row(), reboot_row()}) {
    EXPECT_FALSE(row.make({})) << row.name;
    EXPECT_FALSE(row.make({{"mode", std::string("nothing")}})) << row.name;
    EXPECT_TRUE(row.make(kPretend)) << row.name;
  }
}

TEST(ChownRow, IsForEveryCall) {
  for (const std::string_view syscall :
       {"chown", "lchown", "fchown", "fchownat", "chown32", "lchown32", "fchown32"}) {
    EXPECT_TRUE(is_answered(chown_row(), syscall, {1, 2, 3, 4, 5, 6})) << syscall;
  }
}

TEST(SwapRow, LeavesFlagsThatTheKernelDoesNotKnow) {
  const Row row = swap_row();
  for (const std::uint64_t flags : {0x0U, 0x8005U, 0x10000U, 0x7ffffU}) {
    EXPECT_TRUE(is_answered(row, "swapon", {0x7000, flags})) << flags;
    EXPECT_TRUE(is_answered(row, "swapon", {0x7000, kGarbage | flags})) << flags;
  }
  for (const std::uint64_t flags : {0x80000U, 0x80000000U, 0xffffffffU}) {
    EXPECT_FALSE(is_answered(row, "swapon", {0x7000, flags})) << flags;
  }
  EXPECT_TRUE(is_answered(row, "swapoff", {0x7000, 0xffffffff}));
}

TEST(RebootRow, IsForTheKernelsCommandsOnly) {
  const Row row = reboot_row();
  const auto is = [&](std::uint64_t magic1, std::uint64_t magic2, std::uint64_t command) {
    return is_answered(row, "reboot", {magic1, magic2, command});
  };
  constexpr std::uint64_t kMagic1 = 0xfee1dead;
  constexpr std::uint64_t kMagic2 = 672274793;
  for (const std::uint64_t command : {0x01234567U, 0xcdef0123U, 0x4321fedcU, 0xa1b2c3d4U,
                                      0xd000fce2U, 0x45584543U, 0x89abcdefU, 0U}) {
    EXPECT_TRUE(is(kMagic1, kMagic2, command)) << command;
    EXPECT_TRUE(is(kGarbage | kMagic1, kGarbage | kMagic2, kGarbage | command)) << command;
    EXPECT_FALSE(is(kMagic1 + 1, kMagic2, command)) << command;
    EXPECT_FALSE(is(kMagic1, kMagic2 + 1, command)) << command;
    EXPECT_FALSE(is(kMagic1, kMagic2, command + 1)) << command;
  }
}

TEST(ClockRow, IsForTheRealTimeClock) {
  const Row row = clock_row();
  for (const std::string_view syscall :
       {"clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64"}) {
    EXPECT_TRUE(is_answered(row, syscall, {CLOCK_REALTIME, 0x7000})) << syscall;
    EXPECT_TRUE(is_answered(row, syscall, {kGarbage | CLOCK_REALTIME, 0x7000})) << syscall;
    for (const std::uint64_t other : {1U, 2U, 11U, 0xfffffffbU}) {
      EXPECT_FALSE(is_answered(row, syscall, {other, 0x7000})) << syscall << other;
    }
  }
  for (const std::string_view syscall : {"settimeofday", "adjtimex", "stime"}) {
    EXPECT_TRUE(is_answered(row, syscall, {0x7000})) << syscall;
  }
}

// Adjusting is told from reading in memory, where no filter looks; pretending checks arguments.
TEST(ClockRow, IsFixedWhereMemoryHasNoSay) {
  const Row row = clock_row();
  for (std::size_t member = 0; member < row.members.size(); ++member) {
    const std::string_view syscall = row.members[member].syscall;
    EXPECT_FALSE(row.fixed(kPretend, member)) << syscall;
    const auto answer = row.fixed(kErrno, member);
    EXPECT_EQ(answer.has_value(), syscall.find("adjtime") == std::string_view::npos) << syscall;
    EXPECT_EQ(answer.value_or(FixedAnswer{ENOSYS}).errno_value, ENOSYS);
  }
}

// Whatever the emulator did wrong, the clock would stay.
TEST(ClockRow, CannotSetTheClock) {
  constexpr std::uint64_t kSysTime = 1ULL << 25U;  // CAP_SYS_TIME
  EXPECT_EQ((clock_row().rights.capabilities | clock_row().rights.host_capabilities) & kSysTime,
            0U);
}

}  // namespace
}  // namespace sidecall::emulators
