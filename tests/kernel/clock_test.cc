// The clock emulator against real notifications. Nothing here sets a clock: what runs natively, as
// root, or is performed is what the kernel refuses, or an adjustment that asks for nothing.
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <limits>

#include "gtest/gtest.h"
#include "kernel/i386.h"
#include "kernel/sandbox.h"
#include "support/native_abi.h"

namespace sidecall::testing {
namespace {

using kernel::Abi;
using support::kNativeAbi;

constexpr std::int64_t kLater = 4'000'000'000;  // in the year 2096

#if defined(__x86_64__)
constexpr long kClockSettime32 = 264;
constexpr long kSettimeofday32 = 79;
constexpr long kAdjtimex32 = 124;
constexpr long kClockAdjtime32 = 343;
constexpr long kClockSettime64 = 404;
constexpr long kClockAdjtime64 = 405;
constexpr long kStime = 25;
#endif

// Of each ABI in the order of the row's members.
std::string served(const std::string& mode, const Body& body) {
  std::vector<std::pair<Abi, int>> calls = {{kNativeAbi, SYS_clock_settime},
                                            {kNativeAbi, SYS_settimeofday},
                                            {kNativeAbi, SYS_adjtimex},
                                            {kNativeAbi, SYS_clock_adjtime}};
#if defined(__x86_64__)
  for (const long nr : {kClockSettime32, kSettimeofday32, kAdjtimex32, kClockAdjtime32,
                        kClockSettime64, kClockAdjtime64, kStime}) {
    calls.emplace_back(Abi::kI386, static_cast<int>(nr));
  }
#endif
  return run_in_sandbox(
      {.program = emulate("clock", {{"mode", mode}}, calls), .install_filter = {}, .meanwhile = {}},
      body);
}

class Clock : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
  // Natively and in the sandbox.
  static void both(const Body& body) {
    EXPECT_EQ(run_natively(body), "") << "natively";
    EXPECT_EQ(served("pretend", body), "") << "pretended in the sandbox";
    EXPECT_EQ(served("perform", body), "") << "performed in the sandbox";
  }
};

long settime(std::int64_t seconds, std::int64_t nanoseconds) {
  const timespec time{.tv_sec = seconds, .tv_nsec = nanoseconds};
  return ::syscall(SYS_clock_settime, CLOCK_REALTIME, &time);
}
long set_time_of_day(const timeval* time, const void* zone) {
  return ::syscall(SYS_settimeofday, time, zone);
}

TEST_F(Clock, RefusesTimesAsTheKernelDoes) {
  both([](Checks& checks) {
    checks.expect_errno(::syscall(SYS_clock_settime, CLOCK_REALTIME, nullptr), EFAULT, "NULL");
    checks.expect_errno(settime(kLater, 1'000'000'000), EINVAL, "too many nanoseconds");
    checks.expect_errno(settime(kLater, -1), EINVAL, "negative nanoseconds");
    checks.expect_errno(settime(-1, 0), EINVAL, "before 1970");
    checks.expect_errno(settime(8'277'292'036, 0), EINVAL, "the end of time");
    checks.expect_errno(settime(0, 0), EINVAL, "before the machine's start");
    for (const int clock : {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI, 99}) {
      checks.expect_errno(::syscall(SYS_clock_settime, clock, nullptr), EINVAL, "another clock");
    }
  });
}

TEST_F(Clock, RefusesTimesOfDayAsTheKernelDoes) {
  both([](Checks& checks) {
    const auto* nowhere = reinterpret_cast<const timeval*>(8);  // NOLINT: an address of nothing
    const timeval over{.tv_sec = kLater, .tv_usec = 1'000'001};
    const timeval early{.tv_sec = -1, .tv_usec = 0};
    const timeval start{};
    const int far_zone[2] = {901, 0};
    checks.expect_ok(set_time_of_day(nullptr, nullptr), "nothing to set");
    checks.expect_errno(set_time_of_day(nowhere, nullptr), EFAULT, "bad time");
    checks.expect_errno(set_time_of_day(nullptr, nowhere), EFAULT, "bad zone");
    checks.expect_errno(set_time_of_day(&over, nowhere), EINVAL, "microseconds first");
    checks.expect_errno(set_time_of_day(&early, nowhere), EFAULT, "then the zone");
    checks.expect_errno(set_time_of_day(&over, nullptr), EINVAL, "too many microseconds");
    checks.expect_errno(set_time_of_day(&early, nullptr), EINVAL, "before 1970");
    checks.expect_errno(set_time_of_day(&start, nullptr), EINVAL, "before the machine's start");
    checks.expect_errno(set_time_of_day(nullptr, far_zone), EINVAL, "too far from UTC");
  });
}

timex wishes(std::uint32_t modes) {
  timex wishes{};
  wishes.modes = modes;
  wishes.constant = -1;  // ADJ_TAI of that asks for nothing, and for CAP_SYS_TIME
  return wishes;
}
timex offset(std::int64_t seconds, std::int64_t microseconds) {
  timex offset = wishes(ADJ_SETOFFSET);
  offset.time = {.tv_sec = seconds, .tv_usec = microseconds};
  return offset;
}

TEST_F(Clock, RefusesAdjustmentsAsTheKernelDoes) {
  both([](Checks& checks) {
    const auto refused = [&](timex adjustment, const std::string& what) {
      checks.expect_errno(::syscall(SYS_adjtimex, &adjustment), EINVAL, what);
      checks.expect_errno(::syscall(SYS_clock_adjtime, CLOCK_REALTIME, &adjustment), EINVAL, what);
    };
    checks.expect_errno(::syscall(SYS_adjtimex, nullptr), EFAULT, "NULL");
    checks.expect_errno(::syscall(SYS_clock_adjtime, CLOCK_REALTIME, nullptr), EFAULT, "NULL");
    refused(wishes(ADJ_TICK), "no ticks");
    timex frequency = wishes(ADJ_FREQUENCY);
    frequency.freq = std::numeric_limits<std::int64_t>::max() / 65'536'000 + 1;
    refused(frequency, "a frequency that overflows");
    refused(offset(0, -1), "negative microseconds");
    refused(offset(0, 1'000'000), "too many microseconds");
    refused(offset(std::numeric_limits<std::int64_t>::min(), 0), "long before 1970");
    refused(offset(std::numeric_limits<std::int64_t>::max(), 0), "past the end of time");
    refused(wishes(0x8000), "half of adjtime(3)");
  });
}

TEST_F(Clock, WritesBackWhereTheKernelDoes) {
  both([](Checks& checks) {
    auto* page = static_cast<timex*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    *page = wishes(ADJ_TICK);
    ::mprotect(page, 4096, PROT_READ);
    checks.expect_errno(::syscall(SYS_adjtimex, page), EFAULT, "refused, and not written");
    checks.expect_errno(::syscall(SYS_clock_adjtime, CLOCK_REALTIME, page), EINVAL, "refused");
    ::mprotect(page, 4096, PROT_READ | PROT_WRITE);
    *page = wishes(ADJ_TAI);
    ::mprotect(page, 4096, PROT_READ);
    checks.expect_errno(::syscall(SYS_adjtimex, page), EFAULT, "not written");
    checks.expect_errno(::syscall(SYS_clock_adjtime, CLOCK_REALTIME, page), EFAULT, "not written");
  });
}

TEST_F(Clock, GivesItsStateToWhoMayAdjustIt) {
  both([](Checks& checks) {
    for (const std::uint32_t modes : {std::uint32_t{ADJ_TAI}, 0U}) {
      timex state;
      std::memset(&state, 0xee, sizeof state);
      state.modes = modes;
      state.constant = -1;
      checks.expect_ok(::syscall(SYS_adjtimex, &state), "adjtimex");
      checks.expect(state.modes == modes, "modes stay");
      checks.expect(state.precision == 1 && state.tolerance == 32'768'000, "the clock's constants");
      checks.expect(state.tick >= 9'000 && state.tick <= 11'000, "tick");
      const auto* bytes = reinterpret_cast<const unsigned char*>(&state);
      checks.expect(bytes[4] == 0xee && bytes[sizeof state - 1] == 0xee, "padding stays");
    }
  });
}

TEST_F(Clock, PerformsWhatChangesNothing) {
  both([](Checks& checks) {
    timex state{};
    checks.expect_ok(::syscall(SYS_adjtimex, &state), "reading");
    timex same{};
    same.modes = ADJ_STATUS;
    same.status = state.status;
    checks.expect_ok(::syscall(SYS_adjtimex, &same), "adjtimex");
    checks.expect(same.status == state.status, "the status as it was");
    same = {};
    same.modes = ADJ_STATUS;
    same.status = state.status;
    checks.expect_ok(::syscall(SYS_clock_adjtime, CLOCK_REALTIME, &same), "clock_adjtime");
    checks.expect(same.status == state.status && same.tick == state.tick, "the host's");
  });
}

void set_everything(Checks& checks) {
  const timeval time{.tv_sec = kLater, .tv_usec = 0};
  const int zone[2] = {0, 0};
  checks.expect_ok(settime(kLater, 5), "clock_settime");
  checks.expect_ok(set_time_of_day(&time, zone), "settimeofday");
  timex adjustment = wishes(ADJ_OFFSET | ADJ_STATUS | ADJ_TICK);
  adjustment.tick = 10'001;
  checks.expect_ok(::syscall(SYS_adjtimex, &adjustment), "adjtimex");
  adjustment.modes = ADJ_SETOFFSET;
  adjustment.time = {.tv_sec = 3600, .tv_usec = 0};
  checks.expect_ok(::syscall(SYS_clock_adjtime, CLOCK_REALTIME, &adjustment), "clock_adjtime");
}

TEST_F(Clock, PretendsToBeSet) {
  const std::string off = run_in_sandbox(
      {.program = {}, .served = false, .install_filter = {}, .meanwhile = {}}, set_everything);
  for (const char* call :
       {"clock_settime: EPERM", "settimeofday: EPERM", "adjtimex: EPERM", "clock_adjtime: EPERM"}) {
    EXPECT_NE(off.find(call), std::string::npos) << off;
  }
  EXPECT_EQ(served("pretend", set_everything), "");
}

TEST_F(Clock, LeavesOthersToTheKernel) {
  const Body body = [](Checks& checks) {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct sets[2] = {};
    checks.expect_ok(::syscall(SYS_capget, &header, sets), "capget");
    sets[0].effective &= ~(1U << CAP_SYS_TIME);
    checks.expect_ok(::syscall(SYS_capset, &header, sets), "capset");
    timex adjustment = wishes(ADJ_TAI);
    const int far_zone[2] = {901, 0};
    checks.expect_errno(settime(0, 0), EPERM, "clock_settime");
    checks.expect_errno(settime(-1, 0), EINVAL, "checked before the right");
    checks.expect_errno(set_time_of_day(nullptr, far_zone), EPERM, "settimeofday");
    checks.expect_errno(::syscall(SYS_adjtimex, &adjustment), EPERM, "adjtimex");
    adjustment.modes = 0;
    checks.expect_ok(::syscall(SYS_adjtimex, &adjustment), "reading");
  };
  both(body);
}

TEST_F(Clock, LeavesOtherUserNamespacesToTheKernel) {
  const Body body = [](Checks& checks) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(::unshare(CLONE_NEWUSER) == 0 && settime(kLater, 0) == -1 ? errno : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    errno = WEXITSTATUS(status);
    checks.expect_errno(-1, EPERM, "clock_settime");
  };
  EXPECT_EQ(served("pretend", body), "");
}

TEST_F(Clock, FailsWithTheErrorOfChoiceWhereItWouldBeSet) {
  EXPECT_EQ(served("errno",
                   [](Checks& checks) {
                     timex adjustment = wishes(ADJ_TAI);
                     checks.expect_errno(::syscall(SYS_adjtimex, nullptr), EFAULT, "NULL");
                     checks.expect_errno(::syscall(SYS_adjtimex, &adjustment), EPERM, "adjusting");
                     adjustment.modes = 0;
                     checks.expect_ok(::syscall(SYS_adjtimex, &adjustment), "reading");
                   }),
            "");
}

#if defined(__x86_64__)
// Puts the words at the page's start and gives its address.
std::uint64_t put(char* page, std::initializer_list<std::uint32_t> words) {
  std::memset(page, 0xee, 256);
  std::memcpy(page, words.begin(), words.size() * sizeof(std::uint32_t));
  return address_of(page);
}

TEST_F(Clock, RefusesWhat32BitCallersAskAsTheKernelDoes) {
  char* page = low_page();
  both([page](Checks& checks) {
    constexpr std::uint32_t kMinusOne = ~0U;
    constexpr std::uint32_t kNanoseconds = 1'000'000'000;
    const auto settime = [&](std::initializer_list<std::uint32_t> words) {
      return call_i386(kClockSettime32, CLOCK_REALTIME, put(page, words));
    };
    checks.expect_errno(settime({kMinusOne, 0}), EINVAL, "before 1970");
    checks.expect_errno(settime({5, kMinusOne}), EINVAL, "negative nanoseconds");
    checks.expect_errno(settime({0, 0}), EINVAL, "before the machine's start");
    checks.expect_errno(
        call_i386(kClockSettime64, CLOCK_REALTIME, put(page, {0, 2, kNanoseconds, 0})), EINVAL,
        "too many nanoseconds in the wide layout");
    // With its padding counted this would be EINVAL as well: see what pretending gives for it.
    checks.expect_errno(call_i386(kClockSettime64, CLOCK_REALTIME, put(page, {0, 0, 1, 7})), EINVAL,
                        "before the machine's start in the wide layout");
    checks.expect_errno(call_i386(kSettimeofday32, put(page, {5, 1'000'001}), 8), EINVAL, "time");
    checks.expect_errno(call_i386(kSettimeofday32, put(page, {kMinusOne, 0}), 8), EFAULT, "zone");
    checks.expect_errno(call_i386(kStime, 8), EFAULT, "stime");
    checks.expect_ok(call_i386(kStime, put(page, {kMinusOne})), "stime does not tell");
    checks.expect_errno(
        call_i386(kAdjtimex32, put(page, {ADJ_TICK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})), EINVAL,
        "no ticks");
  });
}

TEST_F(Clock, GivesItsStateTo32BitCallers) {
  char* page = low_page();
  both([page](Checks& checks) {
    constexpr std::uint32_t kMinusOne = ~0U;
    const std::initializer_list<std::uint32_t> narrow = {ADJ_TAI, 0, 0, 0, 0, 0, kMinusOne};
    const auto word = [page](std::size_t at) {
      std::uint32_t value = 0;
      std::memcpy(&value, page + at * sizeof value, sizeof value);
      return value;
    };
    checks.expect_ok(call_i386(kAdjtimex32, put(page, narrow)), "adjtimex");
    checks.expect(word(0) == ADJ_TAI && word(7) == 1 && word(8) == 32'768'000, "its fields");
    checks.expect(word(31) == 0 && word(32) == 0xeeeeeeee, "128 bytes, what is unused zeroed");
    checks.expect_ok(call_i386(kClockAdjtime32, CLOCK_REALTIME, put(page, narrow)),
                     "clock_adjtime");
    checks.expect(word(7) == 1 && word(31) == 0 && word(32) == 0xeeeeeeee, "the same layout");
    checks.expect_ok(
        call_i386(kClockAdjtime64, CLOCK_REALTIME,
                  put(page, {ADJ_TAI, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, kMinusOne, kMinusOne})),
        "clock_adjtime64");
    checks.expect(word(14) == 1 && word(16) == 32'768'000, "the wide layout");
    checks.expect(word(51) == 0xeeeeeeee && word(52) == 0xeeeeeeee, "padding stays");
  });
}

TEST_F(Clock, PretendsTo32BitCallers) {
  char* page = low_page();
  EXPECT_EQ(
      served("pretend",
             [page](Checks& checks) {
               constexpr std::uint32_t kLate = 2'147'483'647;
               checks.expect_ok(call_i386(kClockSettime32, CLOCK_REALTIME, put(page, {kLate, 5})),
                                "settime");
               checks.expect_ok(
                   call_i386(kClockSettime64, CLOCK_REALTIME, put(page, {kLate, 0, 5, 0xeeeeeeee})),
                   "the wide layout, whatever is in its padding");
               checks.expect_ok(call_i386(kSettimeofday32, put(page, {kLate, 5})), "settimeofday");
               checks.expect_ok(call_i386(kStime, put(page, {kLate})), "stime");
             }),
      "");
}
#endif

}  // namespace
}  // namespace sidecall::testing
