#include "cli/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "kernel/listener.h"

namespace sidecall::cli {
namespace {

using emulators::Compare;
using emulators::Condition;
using testing::HasSubstr;

oci::SeccompProfile profile_with(std::vector<oci::SeccompRule> rules) {
  oci::SeccompProfile profile = oci::allow_all_profile();
  profile.syscalls = std::move(rules);
  return profile;
}

oci::SeccompRule fails_with(int number, const std::string& name, emulators::Conditions args = {}) {
  return {.names = {name},
          .action = "SCMP_ACT_ERRNO",
          .errno_ret = static_cast<std::uint32_t>(number),
          .args = std::move(args)};
}

// What `probe` gives in a process under the filter: 0 to 125.
int under(const oci::SeccompProfile& profile, const std::function<int(int listener)>& probe) {
  auto filter = Filter::build(profile);
  EXPECT_TRUE(filter) << filter.error().message;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto listener = filter->install();
    ::_exit(listener ? probe(listener->get()) : 126);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// The errno of a system call that gets these arguments; 0 where it succeeds.
int errno_of(long number, long first = 0, long second = 0) {
  return ::syscall(number, first, second) < 0 ? errno : 0;
}

TEST(FilterTest, DecidesByName) {
  const auto profile = profile_with({fails_with(EXDEV, "getppid")});
  EXPECT_EQ(under(profile, [](int) { return errno_of(SYS_getppid); }), EXDEV);
  EXPECT_EQ(under(profile, [](int) { return errno_of(SYS_getpid); }), 0);
}

TEST(FilterTest, ErrnoIsEpermWhereTheProfileGivesNone) {
  auto rule = fails_with(0, "getppid");
  rule.errno_ret.reset();
  EXPECT_EQ(under(profile_with({rule}), [](int) { return errno_of(SYS_getppid); }), EPERM);
}

TEST(FilterTest, ConditionsOnOneRegisterAreAlternatives) {
  const auto profile = profile_with(
      {fails_with(EXDEV, "getpgid", {{.index = 0, .value = 11}, {.index = 0, .value = 12}})});
  EXPECT_EQ(under(profile, [](int) { return errno_of(SYS_getpgid, 11); }), EXDEV);
  EXPECT_EQ(under(profile, [](int) { return errno_of(SYS_getpgid, 12); }), EXDEV);
  EXPECT_EQ(under(profile, [](int) { return errno_of(SYS_getpgid, 0); }), 0);
}

TEST(FilterTest, ConditionsOnSeveralRegistersMustAllHold) {
  const auto profile = profile_with(
      {fails_with(EXDEV, "getpriority", {{.index = 0, .value = 0}, {.index = 1, .value = 1}})});
  EXPECT_EQ(under(profile, [](int) { return errno_of(SYS_getpriority, 0, 1); }), EXDEV);
  EXPECT_EQ(under(profile, [](int) { return errno_of(SYS_getpriority, 0, 0); }), 0);
}

TEST(FilterTest, ComparesAsTheProfileSays) {
  struct Case {
    Condition condition;
    long matching;
    long other;
  };
  const std::vector<Case> cases = {
      {{.op = Compare::kNotEqual, .value = 5}, 6, 5},
      {{.op = Compare::kLess, .value = 5}, 4, 5},
      {{.op = Compare::kLessOrEqual, .value = 5}, 5, 6},
      {{.op = Compare::kEqual, .value = 5}, 5, 6},
      {{.op = Compare::kGreaterOrEqual, .value = 5}, 5, 4},
      {{.op = Compare::kGreater, .value = 5}, 6, 5},
      {{.op = Compare::kMaskedEqual, .value = 0xF0, .value_two = 0x20}, 0x2F, 0x3F},
  };
  for (const Case& each : cases) {
    // umask(2) takes every number, and never fails by itself.
    const auto profile = profile_with({fails_with(EXDEV, "umask", {each.condition})});
    const auto op = static_cast<int>(each.condition.op);
    EXPECT_EQ(under(profile, [&](int) { return errno_of(SYS_umask, each.matching); }), EXDEV) << op;
    EXPECT_EQ(under(profile, [&](int) { return errno_of(SYS_umask, each.other); }), 0) << op;
  }
}

TEST(FilterTest, GivesAListener) {
  const oci::SeccompRule rule{
      .names = {"getppid"}, .action = "SCMP_ACT_NOTIFY", .errno_ret = {}, .args = {}};
  EXPECT_EQ(under(profile_with({rule}), [](int fd) { return kernel::is_listener(fd) ? 0 : 1; }), 0);
}

TEST(FilterTest, SkipsNamesThatAreNotKnownAndRulesThatSayNothing) {
  const oci::SeccompRule allow{
      .names = {"getppid"}, .action = "SCMP_ACT_ALLOW", .errno_ret = {}, .args = {}};
  const auto profile = profile_with({fails_with(EXDEV, "of_the_future"), allow});
  EXPECT_EQ(under(profile, [](int) { return errno_of(SYS_getppid); }), 0);
}

#ifdef __x86_64__
TEST(FilterTest, OtherAbisGetEnosys) {
  constexpr long kX32 = 0x40000000;
  EXPECT_EQ(under(oci::allow_all_profile(), [](int) { return errno_of(kX32 + SYS_getpid); }),
            ENOSYS);
}
#endif

TEST(FilterTest, SetsNoNewPrivsOnlyWhereItMust) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto probe = [](int) { return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); };
  EXPECT_EQ(under(oci::allow_all_profile(), probe), 0);
  auto filter = Filter::build(oci::allow_all_profile());
  ASSERT_TRUE(filter);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(125);
    ::_exit(filter->install() ? probe(0) : 126);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(FilterTest, RefusesWhatItDoesNotKnow) {
  auto profile = oci::allow_all_profile();
  profile.flags = {"SECCOMP_FILTER_FLAG_FUTURE"};
  EXPECT_THAT(Filter::build(profile).error().message, HasSubstr("FLAG_FUTURE"));
  profile = oci::allow_all_profile();
  profile.architectures = {"SCMP_ARCH_VAX"};
  EXPECT_THAT(Filter::build(profile).error().message, HasSubstr("SCMP_ARCH_VAX"));
  profile = oci::allow_all_profile();
  profile.default_action = "SCMP_ACT_MAYBE";
  EXPECT_THAT(Filter::build(profile).error().message, HasSubstr("SCMP_ACT_MAYBE"));
}

}  // namespace
}  // namespace sidecall::cli
