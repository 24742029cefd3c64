#include "worker/cgroup_sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <limits>

#include "base/file.h"

namespace sidecall::worker {
namespace {

using testing::HasSubstr;

// /proc/PID/stat as the kernel writes it, with another command name.
std::string stat_of(const std::string& comm) {
  return "4711 (" + comm +
         ") S 1 4711 4711 0 -1 4194560 2133 0 1 0 3 2 0 0 20 0 1 0 987654 1720320 220 "
         "18446744073709551615 1 1 0 0 0 0 0 4096 0\n";
}

TEST(ParseStartTicks, FindsTheTimeWhateverTheName) {
  for (const std::string comm :
       {"init", "a b c", ") S 1 2 3", "(((", ")) )", "", "x) 1 2 3 4 5 6 7 8 9 10 11 12 13"}) {
    const auto ticks = parse_start_ticks(stat_of(comm));
    ASSERT_TRUE(ticks) << comm << ": " << ticks.error().message;
    EXPECT_EQ(*ticks, 987654U) << comm;
  }
}

TEST(ParseStartTicks, CutTextIsRefused) {
  const std::string text = stat_of("init");
  const std::size_t before = text.find("987654");
  for (std::size_t length = 0; length <= before; ++length) {
    EXPECT_FALSE(parse_start_ticks(std::string_view(text).substr(0, length))) << length;
  }
}

TEST(ParseStartTicks, SomethingElseIsRefused) {
  for (const std::string_view text : {"", "4711", "4711 (x", ")", ") ", "4711 (x) "}) {
    EXPECT_FALSE(parse_start_ticks(text)) << text;
  }
  std::string text = stat_of("init");
  text.replace(text.find("987654"), 1, "x");
  EXPECT_THAT(parse_start_ticks(text).error().message, HasSubstr("no start time"));
}

TEST(CgroupSandbox, KnowsNothingBeforeItIsBound) {
  EXPECT_THAT(CgroupSandbox().resources().error().message, HasSubstr("not known yet"));
}

TEST(CgroupSandbox, GivesFiguresOfARunningProcess) {
  CgroupSandbox sandbox;
  const auto bound = sandbox.bind(::getpid());
  ASSERT_TRUE(bound) << bound.error().message;
  const auto first = sandbox.resources();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_GT(first->memory_limit.value_or(1), 0U);
  EXPECT_GT(first->processes.value_or(1), 0U);
}

TEST(CgroupSandbox, StaysBoundToItsFirstProcess) {
  CgroupSandbox sandbox;
  ASSERT_TRUE(sandbox.bind(::getpid()));
  EXPECT_TRUE(sandbox.bind(std::numeric_limits<pid_t>::max()));
  EXPECT_TRUE(sandbox.resources());
}

TEST(CgroupSandbox, StopsItsFirstProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  CgroupSandbox sandbox;
  EXPECT_EQ(sandbox.stop().error().value, EBADF) << "not bound yet";
  ASSERT_TRUE(sandbox.bind(child));
  EXPECT_TRUE(sandbox.stop());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(sandbox.stop().error().value, ESRCH) << "whoever has its number by now";
}

TEST(CgroupSandbox, AProcessThatHasGoneBindsNothing) {
  CgroupSandbox sandbox;
  EXPECT_FALSE(sandbox.bind(std::numeric_limits<pid_t>::max()));
  EXPECT_FALSE(sandbox.resources());
}

}  // namespace
}  // namespace sidecall::worker
