#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oci/seccomp.h"
#include "policy/base_rules.h"
#include "policy/compile.h"
#include "policy/policy.h"
#include "policy/syscall_names.h"
#include "unit/policy/filter.h"

namespace sidecall::policy {
namespace {

using emulators::Compare;
using emulators::Condition;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kDevices =
    R"({"rules": [{"emulate": "mknod", "options": {"devices": ["c 1:3"]}}]})";

oci::SeccompProfile base_of(std::string_view rules, std::string_view otherwise = "SCMP_ACT_ERRNO") {
  auto base = oci::parse_profile(R"({"defaultAction": ")" + std::string(otherwise) +
                                     R"(", "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"],)"
                                     R"( "syscalls": [)" +
                                     std::string(rules) + "]}",
                                 {});
  if (!base) ADD_FAILURE() << base.error().message;
  return base ? *std::move(base) : oci::SeccompProfile{};
}

Result<CompiledProfile> compile(std::string_view policy, const oci::SeccompProfile& base) {
  const auto parsed = parse_policy("test", policy);
  if (!parsed) return tl::unexpected<Error>(parsed.error());
  return compile_profile(*parsed, base);
}

CompiledProfile compiled(std::string_view policy, const oci::SeccompProfile& base) {
  auto made = compile(policy, base);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return {};
  }
  return *std::move(made);
}

std::string error_of(std::string_view policy, const oci::SeccompProfile& base) {
  const auto made = compile(policy, base);
  return made ? "" : made.error().message;
}

std::string errno_rule(std::string_view syscall, std::string_view conditions) {
  return R"({"rules": [{"syscalls": [")" + std::string(syscall) + R"("], "errno": 1, "when": [)" +
         std::string(conditions) + "]}]}";
}

TEST(CompileProfile, LeavesTheBaseAlone) {
  const auto base = base_of(R"({"names": ["read", "mknod", "write"], "action": "SCMP_ACT_ALLOW"},
    {"names": ["mknodat"], "action": "SCMP_ACT_LOG"},
    {"names": ["acct"], "action": "SCMP_ACT_ERRNO"},
    {"names": ["sync"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}, {"names": ["acct"],
     "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 0, "op": "SCMP_CMP_EQ"},
                                          {"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]})");
  const auto rules = compiled(kDevices, base).profile.syscalls;
  ASSERT_GE(rules.size(), 3U);
  EXPECT_THAT(rules[0].names, ElementsAre("read", "write"));
  // SCMP_ACT_ERRNO with EPERM is the default: no rule.
  EXPECT_THAT(rules[1].names, ElementsAre("sync"));
  EXPECT_EQ(rules[1].errno_ret, 38U);
  EXPECT_THAT(rules[2].names, ElementsAre("acct"));
  EXPECT_EQ(rules[2].args.size(), 2U);
  for (std::size_t at = 3; at < rules.size(); ++at) {
    EXPECT_THAT(rules[at].names, testing::AnyOf(ElementsAre("mknod"), ElementsAre("mknodat")));
  }
}

TEST(CompileProfile, NotifiesDeviceNodesOnly) {
  const auto allowing = compiled(kDevices, oci::allow_all_profile());
  EXPECT_THAT(allowing.notes, IsEmpty());
  ASSERT_EQ(allowing.profile.syscalls.size(), 4U);  // two forms of mknod and mknodat each
  for (const auto& rule : allowing.profile.syscalls) EXPECT_EQ(rule.action, "SCMP_ACT_NOTIFY");

  const auto base = base_of(R"({"names": ["mknod", "mknodat"], "action": "SCMP_ACT_ALLOW"})");
  const auto filter = Filter::build(compiled(kDevices, base).profile);
  ASSERT_TRUE(filter) << filter.error().message;
  for (const auto abi : host_abis()) {
    for (std::uint64_t type = 0; type < 16; ++type) {
      for (const std::uint64_t dev : {0U, 1U, 0x103U}) {
        const bool notified = (type == 2 && dev != 0) || type == 6;
        const FilterAction expected = {notified ? "SCMP_ACT_NOTIFY" : "SCMP_ACT_ALLOW"};
        const std::uint64_t mode = type << 12U | 0666U;
        EXPECT_EQ(filter->decide(abi, *syscall_number(abi, "mknodat"), {0, 0, mode, dev}), expected)
            << type << " " << dev;
        if (const auto nr = syscall_number(abi, "mknod")) {
          EXPECT_EQ(filter->decide(abi, *nr, {0, mode, dev}), expected) << type << " " << dev;
        }
      }
    }
  }
}

// The engines' default profile allows socket(2) by two registers, with rules that overlap.
oci::SeccompProfile socket_base() {
  return base_of(R"(
    {"names": ["socket"], "action": "SCMP_ACT_ERRNO", "errnoRet": 22, "args": [
      {"index": 0, "value": 16, "op": "SCMP_CMP_EQ"}, {"index": 2, "value": 9, "op": "SCMP_CMP_EQ"}]},
    {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [
      {"index": 2, "value": 9, "op": "SCMP_CMP_NE"}]},
    {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [
      {"index": 0, "value": 16, "op": "SCMP_CMP_NE"}]})");
}
constexpr std::string_view kNoVsock =
    R"({"rules": [{"syscalls": ["socket"], "errno": "EAFNOSUPPORT",
    "when": [{"index": 0, "value": 40, "op": "SCMP_CMP_EQ"}]}]})";

TEST(CompileProfile, RefusesRegistersOfWhatI386Multiplexes) {
  const std::string message = error_of(kNoVsock, socket_base());
  EXPECT_THAT(message, HasSubstr("$.rules[0]: a filter cannot express these conditions on socket"));
  EXPECT_THAT(message, HasSubstr("through socketcall"));
}

TEST(CompileProfile, CutsARuleOutOfABaseThatComparesRegisters) {
  auto base = socket_base();
  base.architectures = {"SCMP_ARCH_X86_64"};
  const auto made = compiled(kNoVsock, base);
  const auto filter = Filter::build(made.profile);
  ASSERT_TRUE(filter) << filter.error().message;
  const auto decision = [&](std::uint64_t family, std::uint64_t protocol) {
    const auto abi = host_abis().front();
    return filter->decide(abi, *syscall_number(abi, "socket"), {family, 1, protocol});
  };
  for (const std::uint64_t protocol : {0U, 9U, 10U}) {
    EXPECT_EQ(decision(40, protocol), (FilterAction{"SCMP_ACT_ERRNO", 97}));
    EXPECT_EQ(decision(2, protocol), (FilterAction{"SCMP_ACT_ALLOW"}));
  }
  EXPECT_EQ(decision(16, 0), (FilterAction{"SCMP_ACT_ALLOW"}));
  EXPECT_EQ(decision(16, 9), (FilterAction{"SCMP_ACT_ERRNO", 22}));
}

TEST(CompileProfile, SharesRulesAmongCalls) {
  const auto profile = compiled(R"({"rules": [
      {"syscalls": ["acct", "sync", "syncfs"], "return": 7},
      {"syscalls": ["swapon"], "return": 0}, {"syscalls": ["swapoff"], "return": 0}]})",
                                oci::allow_all_profile())
                           .profile;
  ASSERT_EQ(profile.syscalls.size(), 2U);
  EXPECT_THAT(profile.syscalls[0].names, ElementsAre("acct", "sync", "syncfs"));
  EXPECT_EQ(profile.syscalls[0].action, "SCMP_ACT_NOTIFY");
  EXPECT_THAT(profile.syscalls[1].names, ElementsAre("swapon", "swapoff"));
  EXPECT_EQ(profile.syscalls[1].action, "SCMP_ACT_ERRNO");
  EXPECT_EQ(profile.syscalls[1].errno_ret, 0U);
}

TEST(CompileProfile, AnswersForEmulatorsWhoseAnswerIsFixed) {
  const auto made = compiled(R"({"rules": [
      {"emulate": "chown", "options": {"mode": "pretend"}},
      {"emulate": "reboot", "options": {"mode": "pretend"}},
      {"emulate": "swap", "options": {"mode": "errno", "errno": "ENOSYS"}}]})",
                             base_of("", "SCMP_ACT_ALLOW"));
  EXPECT_THAT(made.notes, IsEmpty());
  for (const auto& rule : made.profile.syscalls) EXPECT_EQ(rule.action, "SCMP_ACT_ERRNO");
  const auto filter = Filter::build(made.profile);
  ASSERT_TRUE(filter) << filter.error().message;
  const FilterAction success = {"SCMP_ACT_ERRNO", 0};
  for (const auto abi : host_abis()) {
    for (const std::string call :
         {"chown", "lchown", "fchown", "fchownat", "chown32", "lchown32", "fchown32"}) {
      if (const auto nr = syscall_number(abi, call)) {
        EXPECT_EQ(filter->decide(abi, *nr, {1, 2, 3}), success) << call;
      }
    }
    const auto swapon = [&](std::uint64_t flags) {
      return filter->decide(abi, *syscall_number(abi, "swapon"), {0x7000, flags});
    };
    EXPECT_EQ(swapon(0x8005), (FilterAction{"SCMP_ACT_ERRNO", 38}));
    EXPECT_EQ(swapon(0x80000), (FilterAction{"SCMP_ACT_ALLOW"})) << "the kernel's EINVAL";
    const auto reboot = [&](std::uint64_t magic1, std::uint64_t command) {
      return filter->decide(abi, *syscall_number(abi, "reboot"), {magic1, 672274793, command});
    };
    EXPECT_EQ(reboot(0xfee1dead, 0xcdef0123), success);
    EXPECT_EQ(reboot(0xfee1dead, 0xcdef0124), (FilterAction{"SCMP_ACT_ALLOW"}));
    EXPECT_EQ(reboot(0xfee1deae, 0xcdef0123), (FilterAction{"SCMP_ACT_ALLOW"}));
    if (!kernel::is_32_bit(abi)) {
      EXPECT_EQ(reboot(0xffffffff'fee1dead, 0xffffffff'cdef0123), success) << "as C libraries call";
    }
  }
}

TEST(CompileProfile, LeavesToTheBaseWhatAFixedAnswerIsNotFor) {
  const auto base = base_of(R"({"names": ["swapon"], "action": "SCMP_ACT_LOG"})");
  const auto filter = Filter::build(compiled(R"({"rules": [
      {"emulate": "swap", "options": {"mode": "pretend"}}]})",
                                             base)
                                        .profile);
  ASSERT_TRUE(filter) << filter.error().message;
  const auto abi = host_abis().front();
  const auto swapon = [&](std::uint64_t flags) {
    return filter->decide(abi, *syscall_number(abi, "swapon"), {0x7000, flags});
  };
  EXPECT_EQ(swapon(0), (FilterAction{"SCMP_ACT_ERRNO", 0}));
  EXPECT_EQ(swapon(0x80000), (FilterAction{"SCMP_ACT_LOG"})) << "the base decides";
}

TEST(CompileProfile, NeverGivesTheBasesRulesTheNamesOfACall) {
  const auto base = base_of(R"({"names": ["sync"], "action": "SCMP_ACT_LOG"})");
  const auto profile =
      compiled(R"({"rules": [{"syscalls": ["acct"], "log": true}]})", base).profile;
  ASSERT_EQ(profile.syscalls.size(), 2U);
  EXPECT_THAT(profile.syscalls[0].names, ElementsAre("sync"));
}

TEST(CompileProfile, SetsWaitKillableAsThePolicySays) {
  constexpr std::string_view kFlag = "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV";
  auto base = oci::allow_all_profile();
  base.flags = {"SECCOMP_FILTER_FLAG_LOG"};
  EXPECT_THAT(compiled(R"({"wait_killable": true, "rules": []})", base).profile.flags,
              ElementsAre("SECCOMP_FILTER_FLAG_LOG", kFlag));
  EXPECT_THAT(compiled(R"({"rules": []})", base).profile.flags,
              ElementsAre("SECCOMP_FILTER_FLAG_LOG"));
  base.flags.emplace_back(kFlag);
  EXPECT_THAT(compiled(R"({"rules": []})", base).profile.flags,
              ElementsAre("SECCOMP_FILTER_FLAG_LOG"));
  EXPECT_THAT(compiled(R"({"wait_killable": true, "rules": []})", base).profile.flags,
              ElementsAre("SECCOMP_FILTER_FLAG_LOG", kFlag));
}

TEST(CompileProfile, RefusesABaseThatHasAListener) {
  auto base = oci::allow_all_profile();
  base.listener_path = "/run/other.sock";
  EXPECT_THAT(error_of(kDevices, base), HasSubstr("already has a listener (/run/other.sock)"));
  EXPECT_THAT(error_of(kDevices, base_of(R"({"names": ["x"], "action": "SCMP_ACT_NOTIFY"})")),
              HasSubstr("already has a listener"));
}

TEST(CompileProfile, RefusesToNotifyWhatTheRuntimeCallsItself) {
  for (const std::string call :
       {"read",       "write", "writev",  "close",  "sendmsg",  "sendto",      "recvmsg",
        "fcntl",      "futex", "mmap",    "munmap", "mprotect", "brk",         "rt_sigprocmask",
        "exit_group", "clone", "clone3",  "wait4",  "ppoll",    "epoll_pwait", "getpid",
        "gettid",     "prctl", "seccomp", "dup3"}) {
    const std::string message =
        error_of(R"({"rules": [{"syscalls": ["sync", ")" + call + R"("], "return": 7}]})",
                 oci::allow_all_profile());
    EXPECT_THAT(message, HasSubstr("$.rules[0]: " + call + " cannot be notified")) << call;
  }
  // The filter alone answers these.
  EXPECT_EQ(
      error_of(R"({"rules": [{"syscalls": ["write"], "return": 0}]})", oci::allow_all_profile()),
      "");
}

TEST(CompileProfile, LetsTheWorkerDecideWhatNoFilterCan) {
  const std::string policy =
      errno_rule("acct", R"({"index": 0, "value": 1099511627776, "op": "SCMP_CMP_EQ"})");
  const auto made = compiled(policy, oci::allow_all_profile());
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_THAT(made.notes[0], HasSubstr("$.rules[0]: each acct is notified"));
  EXPECT_THAT(made.notes[0], HasSubstr("SCMP_CMP_MASKED_EQ"));
  ASSERT_EQ(made.profile.syscalls.size(), 1U);
  EXPECT_EQ(made.profile.syscalls[0].action, "SCMP_ACT_NOTIFY");
  EXPECT_THAT(made.profile.syscalls[0].args, IsEmpty());

  // Not over a base that would do anything else than allow.
  EXPECT_THAT(error_of(policy, base_of(R"({"names": ["acct"], "action": "SCMP_ACT_LOG"})")),
              HasSubstr("$.rules[0]: a filter cannot express"));
  EXPECT_THAT(error_of(policy, base_of(R"({"names": ["acct"], "action": "SCMP_ACT_LOG"})",
                                       "SCMP_ACT_ALLOW")),
              HasSubstr("a filter cannot express"));
  // Not for what only a filter can do.
  EXPECT_THAT(error_of(R"({"rules": [{"syscalls": ["acct"], "log": true, "when": [
                         {"index": 0, "value": 1099511627776, "op": "SCMP_CMP_EQ"}]}]})",
                       oci::allow_all_profile()),
              HasSubstr("a filter cannot express"));
}

TEST(CompileProfile, NotesWhatI386ReachesOtherwise) {
  constexpr std::string_view kPolicy = R"({"rules": [{"syscalls": ["bind"], "return": 7}]})";
  EXPECT_THAT(compiled(kPolicy, base_of("", "SCMP_ACT_ALLOW")).notes,
              ElementsAre(HasSubstr("32-bit programs also reach bind through socketcall")));
  auto only_64_bit = base_of("", "SCMP_ACT_ALLOW");
  only_64_bit.architectures = {"SCMP_ARCH_X86_64"};
  EXPECT_THAT(compiled(kPolicy, only_64_bit).notes, IsEmpty());
}

TEST(BaseRules, KnowTheTwoNamesOfOneAction) {
  auto base = base_of(R"({"names": ["acct"], "action": "SCMP_ACT_KILL_THREAD"})", "SCMP_ACT_KILL");
  EXPECT_THAT(base_rules(base, "acct"), ElementsAre(FilterRule{{}, {"SCMP_ACT_KILL_THREAD"}}));
}

}  // namespace
}  // namespace sidecall::policy
