#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "policy/compile.h"
#include "policy/policy.h"
#include "policy/syscall_names.h"

namespace sidecall::policy {
namespace {

using emulators::Program;
using emulators::Rule;
using testing::ElementsAre;
using testing::HasSubstr;

Program compiled(std::string_view json) {
  const auto policy = parse_policy("test", json);
  if (!policy) {
    ADD_FAILURE() << policy.error().message;
    return {};
  }
  auto program = compile_program(*policy);
  if (!program) {
    ADD_FAILURE() << program.error().message;
    return {};
  }
  return *std::move(program);
}

// "x86_64 mknod", …
std::vector<std::string> routes(const Program& program) {
  std::vector<std::string> names;
  for (const auto& route : program.routes) {
    EXPECT_EQ(syscall_number(route.abi, route.name), route.nr);
    names.push_back(std::string(kernel::abi_name(route.abi)) + " " + route.name);
  }
  return names;
}

TEST(CompileProgram, RoutesWhatTheWorkerAnswers) {
  const Program program = compiled(R"({"sync_wake_up": false, "rules": [
    {"emulate": "mknod", "options": {"devices": ["c 1:3"]}},
    {"syscalls": ["acct"], "return": 7},
    {"syscalls": ["swapon"], "return": 0},
    {"syscalls": ["swapoff"], "errno": 1},
    {"syscalls": ["sync"], "continue": true},
    {"syscalls": ["syncfs"], "log": true},
    {"syscalls": ["chroot"], "kill": "process"}]})");
  EXPECT_EQ(program.policy, "test");
  EXPECT_FALSE(program.sync_wake_up);
#if defined(__x86_64__)
  EXPECT_THAT(routes(program), ElementsAre("x86_64 mknod", "i386 mknod", "x86_64 mknodat",
                                           "i386 mknodat", "x86_64 acct", "i386 acct"));
#else
  EXPECT_THAT(routes(program), ElementsAre("aarch64 mknodat", "aarch64 acct"));
#endif
  ASSERT_EQ(program.instances.size(), 1U);
  EXPECT_EQ(program.instances[0].emulator, "mknod");
  for (const auto& route : program.routes) {
    ASSERT_EQ(route.rules.size(), 1U);
    if (route.name == "acct") {
      EXPECT_EQ(route.rules[0].action, Rule::Action::kValue);
      EXPECT_EQ(route.rules[0].number, 7);
    } else {
      EXPECT_EQ(route.rules[0].action, Rule::Action::kEmulate);
      EXPECT_EQ(route.rules[0].instance, 0U);
      EXPECT_EQ(route.rules[0].member, route.name == "mknodat" ? 1U : 0U);
    }
  }
}

TEST(CompileProgram, LeavesOutWhatTheFilterAnswers) {
  const Program program = compiled(R"({"rules": [
    {"emulate": "chown", "options": {"mode": "pretend"}},
    {"emulate": "swap", "options": {"mode": "errno", "errno": "ENOSYS"}}]})");
  EXPECT_THAT(program.instances, testing::IsEmpty());
  EXPECT_THAT(routes(program), testing::IsEmpty());
}

// Over a base whose own default is that very answer no filter can say which calls it is not for.
TEST(CompileProgram, StandsInForAFilterThatSomeBasesCannotHave) {
  const Program program = compiled(R"({"rules": [
    {"emulate": "reboot", "options": {"mode": "errno", "errno": "ENOSYS"}}]})");
  EXPECT_THAT(program.instances, testing::IsEmpty());
  ASSERT_FALSE(program.routes.empty());
  for (const auto& route : program.routes) {
    ASSERT_EQ(route.rules.size(), 9U);
    for (std::size_t at = 0; at < 8; ++at) {
      EXPECT_EQ(route.rules[at].action, Rule::Action::kErrno);
      EXPECT_EQ(route.rules[at].number, ENOSYS);
    }
    EXPECT_EQ(route.rules[8].action, Rule::Action::kContinue);
  }
}

// One rule, of which the filter answers some members and the worker others.
TEST(CompileProgram, RoutesTheMembersThatAreNotFixed) {
  const Program program = compiled(R"({"rules": [
    {"emulate": "clock", "options": {"mode": "errno"}}]})");
  ASSERT_EQ(program.instances.size(), 1U);
  EXPECT_EQ(program.instances[0].emulator, "clock");
#if defined(__x86_64__)
  EXPECT_THAT(routes(program),
              ElementsAre("x86_64 adjtimex", "i386 adjtimex", "x86_64 clock_adjtime",
                          "i386 clock_adjtime", "i386 clock_adjtime64"));
#else
  EXPECT_THAT(routes(program), ElementsAre("aarch64 adjtimex", "aarch64 clock_adjtime"));
#endif
}

// Another rule of the call needs the worker, which then finds the fixed answers among its rules.
TEST(CompileProgram, KnowsTheFiltersAnswersWhereItServesTheCall) {
  const Program program = compiled(R"({"rules": [
    {"emulate": "swap", "syscalls": ["swapon"], "options": {"mode": "errno", "errno": "ENOSYS"},
     "when": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]},
    {"emulate": "chown", "syscalls": ["chown"], "options": {"mode": "pretend"},
     "when": [{"index": 1, "value": 2, "op": "SCMP_CMP_EQ"}]},
    {"syscalls": ["swapon", "chown"], "return": 7}]})");
  EXPECT_THAT(program.instances, testing::IsEmpty());
  ASSERT_FALSE(program.routes.empty());
  for (const auto& route : program.routes) {
    const auto& rules = route.rules;
    if (route.name == "swapon") {
      ASSERT_EQ(rules.size(), 3U);
      EXPECT_EQ(rules[0].action, Rule::Action::kErrno);
      EXPECT_EQ(rules[0].number, ENOSYS);
      EXPECT_EQ(rules[0].when.size(), 2U) << "the rule's condition and the emulator's";
      EXPECT_EQ(rules[1].action, Rule::Action::kContinue) << "flags that are not the emulator's";
      EXPECT_EQ(rules[1].when.size(), 1U);
    } else {
      ASSERT_EQ(rules.size(), 2U);
      EXPECT_EQ(rules[0].action, Rule::Action::kValue);
      EXPECT_EQ(rules[0].number, 0);
    }
    EXPECT_EQ(rules.back().number, 7);
  }
}

TEST(CompileProgram, KeepsTheOrderOfACallsRules) {
  const Program program = compiled(R"({"rules": [
    {"syscalls": ["acct"], "errno": "EACCES",
     "when": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]},
    {"syscalls": ["acct"], "kill": "thread",
     "when": [{"index": 0, "value": 2, "op": "SCMP_CMP_EQ"}]},
    {"syscalls": ["acct"], "continue": true,
     "when": [{"index": 0, "value": 3, "op": "SCMP_CMP_EQ"}]},
    {"syscalls": ["acct"], "return": 7}]})");
  ASSERT_FALSE(program.routes.empty());
  const auto& rules = program.routes[0].rules;
  ASSERT_EQ(rules.size(), 4U);
  EXPECT_EQ(rules[0].action, Rule::Action::kErrno);
  EXPECT_EQ(rules[0].number, EACCES);
  // The filter kills; a call that came here all the same is refused.
  EXPECT_EQ(rules[1].action, Rule::Action::kErrno);
  EXPECT_EQ(rules[1].number, EPERM);
  EXPECT_EQ(rules[2].action, Rule::Action::kContinue);
  EXPECT_EQ(rules[3].action, Rule::Action::kValue);
  EXPECT_TRUE(rules[3].when.empty());
}

TEST(CompileProgram, GivesEachEmulateRuleItsOwnInstance) {
  const Program program = compiled(R"({"rules": [
    {"emulate": "mknod", "options": {"devices": ["c 1:3"]},
     "when": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]},
    {"emulate": "mknod", "options": {"devices": ["c 1:5"]}}]})");
  ASSERT_EQ(program.instances.size(), 2U);
  for (const auto& route : program.routes) {
    ASSERT_EQ(route.rules.size(), 2U);
    EXPECT_EQ(route.rules[0].instance, 0U);
    EXPECT_EQ(route.rules[1].instance, 1U);
  }
}

TEST(CompileProgram, RoutesWhatNoFilterCanExpress) {
  const Program program = compiled(R"({"rules": [
    {"syscalls": ["acct"], "errno": 1,
     "when": [{"index": 0, "value": 1099511627776, "op": "SCMP_CMP_EQ"}]}]})");
  ASSERT_FALSE(program.routes.empty());
  EXPECT_EQ(program.routes[0].name, "acct");
}

TEST(CompileProgram, SurvivesTheWire) {
  const Program program = compiled(R"({"rules": [
    {"emulate": "mknod", "options": {"devices": ["c 1:3"]}}, {"emulate": "uname"}]})");
  const auto decoded = emulators::decode(emulators::encode(program));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->routes.size(), program.routes.size());
}

}  // namespace
}  // namespace sidecall::policy
