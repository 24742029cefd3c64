#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulators/table.h"
#include "policy/policy.h"

namespace sidecall::policy {
namespace {

using Action = PolicyRule::Action;
using emulators::Compare;
using emulators::Condition;
using testing::ElementsAre;
using testing::HasSubstr;

std::string with_rules(std::string_view rules) {
  return R"({"rules": [)" + std::string(rules) + "]}";
}

Policy parsed(std::string_view json) {
  auto policy = parse_policy("test", json);
  if (!policy) {
    ADD_FAILURE() << policy.error().message;
    return {};
  }
  return *std::move(policy);
}

std::string error_of(std::string_view json) {
  const auto policy = parse_policy("test", json);
  return policy ? "" : policy.error().message;
}
std::string rule_error(std::string_view rules) {
  return error_of(with_rules(rules));
}

TEST(ParsePolicy, ReadsEveryAction) {
  const Policy policy = parsed(R"({
    "$schema": "x", "description": "d", "sync_wake_up": false, "wait_killable": true,
    "rules": [
      {"emulate": "mknod", "options": {"devices": ["c 1:3", "c 1:5"]}},
      {"emulate": "uname", "syscalls": ["uname"]},
      {"syscalls": ["clock_settime", "settimeofday"], "return": 0},
      {"syscalls": ["chroot"], "errno": "EPERM",
       "when": [{"index": 0, "value": 1, "valueTwo": 0, "op": "SCMP_CMP_EQ"}]},
      {"syscalls": ["umount2"], "errno": 4095},
      {"syscalls": ["swapon"], "log": true},
      {"syscalls": ["acct"], "kill": "process"},
      {"syscalls": ["swapoff"], "kill": "thread"},
      {"syscalls": ["sync"], "continue": true},
      {"syscalls": ["syncfs"], "return": -4096}]})");
  EXPECT_EQ(policy.name, "test");
  EXPECT_EQ(policy.description, "d");
  EXPECT_FALSE(policy.sync_wake_up);
  EXPECT_TRUE(policy.wait_killable);
  ASSERT_EQ(policy.rules.size(), 10U);
  EXPECT_EQ(policy.rules[0].action, Action::kEmulate);
  EXPECT_EQ(policy.rules[0].emulator, "mknod");
  EXPECT_THAT(policy.rules[0].syscalls, ElementsAre("mknod", "mknodat"));
  EXPECT_THAT(std::get<std::vector<std::string>>(policy.rules[0].options.at("devices")),
              ElementsAre("c 1:3", "c 1:5"));
  EXPECT_THAT(policy.rules[1].syscalls, ElementsAre("uname"));
  EXPECT_EQ(policy.rules[2].action, Action::kReturn);
  EXPECT_EQ(policy.rules[2].number, 0);
  EXPECT_THAT(policy.rules[2].syscalls, ElementsAre("clock_settime", "settimeofday"));
  EXPECT_EQ(policy.rules[3].action, Action::kErrno);
  EXPECT_EQ(policy.rules[3].number, 1);
  EXPECT_EQ(policy.rules[3].json_path, "$.rules[3]");
  EXPECT_THAT(policy.rules[3].when, ElementsAre(Condition{0, Compare::kEqual, 1, 0}));
  EXPECT_EQ(policy.rules[4].number, 4095);
  EXPECT_EQ(policy.rules[5].action, Action::kLog);
  EXPECT_EQ(policy.rules[6].action, Action::kKillProcess);
  EXPECT_EQ(policy.rules[7].action, Action::kKillThread);
  EXPECT_EQ(policy.rules[8].action, Action::kContinue);
  EXPECT_EQ(policy.rules[9].number, -4096);
}

TEST(ParsePolicy, ReadsARemoteRule) {
  using Absent = emulators::Remote::Absent;
  const Policy policy = parsed(with_rules(R"(
      {"syscalls": ["openat"], "remote": {"plugin": "/run/a.sock"}},
      {"syscalls": ["uname"], "remote": {"plugin": "/run/b.sock", "deadline": "2s",
       "absent": "continue", "errno": "EAGAIN"}},
      {"syscalls": ["sync"], "remote": {"plugin": "/run/b.sock", "absent": "wait",
       "may_continue": true}})"));
  ASSERT_EQ(policy.rules.size(), 3U);
  EXPECT_EQ(policy.rules[0].action, Action::kRemote);
  EXPECT_EQ(policy.rules[0].plugin, "/run/a.sock");
  EXPECT_EQ(policy.rules[0].remote.deadline_ms, 1000U);
  EXPECT_EQ(policy.rules[0].remote.absent, Absent::kErrno);
  EXPECT_EQ(policy.rules[0].remote.errno_value, EIO);
  EXPECT_FALSE(policy.rules[0].remote.may_continue);
  EXPECT_EQ(policy.rules[1].remote.deadline_ms, 2000U);
  EXPECT_EQ(policy.rules[1].remote.absent, Absent::kContinue);
  EXPECT_EQ(policy.rules[1].remote.errno_value, EAGAIN);
  EXPECT_TRUE(policy.rules[1].remote.may_continue);
  EXPECT_EQ(policy.rules[2].remote.deadline_ms, 0U);
  EXPECT_EQ(policy.rules[2].remote.absent, Absent::kWait);
  EXPECT_TRUE(policy.rules[2].remote.may_continue);
}

TEST(ParsePolicy, NamesWhatIsWrongWithARemoteRule) {
  const auto error = [](std::string_view remote) {
    return rule_error(R"({"syscalls": ["sync"], "remote": )" + std::string(remote) + "}");
  };
  EXPECT_THAT(error(R"({"plugin": "a.sock"})"),
              HasSubstr("$.rules[0].remote.plugin: must be the absolute path"));
  EXPECT_THAT(error(R"({"plugin": "/a", "deadline": "5m"})"), HasSubstr("1ms to 3600s"));
  EXPECT_THAT(error(R"({"plugin": "/a", "deadline": "4000s"})"), HasSubstr("1ms to 3600s"));
  EXPECT_THAT(error(R"({"plugin": "/a", "absent": "continue", "may_continue": false})"),
              HasSubstr("must be true"));
}

TEST(ParsePolicy, HasItsDefaults) {
  const Policy policy = parsed(R"({"rules": []})");
  EXPECT_TRUE(policy.sync_wake_up);
  EXPECT_FALSE(policy.wait_killable);
  EXPECT_TRUE(policy.rules.empty());
}

TEST(ParsePolicy, ReadsLimits) {
  const Policy policy =
      parsed(R"({"rules": [], "limits": {"calls": 7, "memory_mib": 64, "wait_seconds": 2}})");
  EXPECT_EQ(policy.limits.calls, 7U);
  EXPECT_EQ(policy.limits.threads, emulators::Limits().threads);
  EXPECT_EQ(policy.limits.memory_mib, 64U);
  EXPECT_EQ(policy.limits.wait_seconds, 2U);
}

TEST(ParsePolicy, ReadsEachEmulatorsExample) {
  for (const emulators::Row& row : emulators::table()) {
    const auto policy = parse_policy(row.name, row.example);
    ASSERT_TRUE(policy) << row.name << ": " << policy.error().message;
    EXPECT_TRUE(std::any_of(policy->rules.begin(), policy->rules.end(), [&](const auto& rule) {
      return rule.emulator == row.name;
    })) << row.name;
  }
}

TEST(ParsePolicy, NamesTheKeyThatIsUnknownOrRepeated) {
  EXPECT_EQ(error_of(R"({"rules": [], "sync_wakeup": true})"),
            "$.sync_wakeup: unknown key (did you mean \"sync_wake_up\"?)");
  EXPECT_EQ(rule_error(R"({"syscalls": ["sync"], "ernno": 1})"),
            "$.rules[0].ernno: unknown key (did you mean \"errno\"?)");
  EXPECT_EQ(rule_error(R"({"syscalls": ["sync"], "errno": 1, "errno": 1})"),
            "$.rules[0].errno: repeated key");
  EXPECT_EQ(rule_error(R"({"emulate": "mknod", "options": {"device": []}})"),
            "$.rules[0].options.device: unknown key (did you mean \"devices\"?)");
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "errno": 1,
                "when": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ", "values": 1}]})"),
              HasSubstr("$.rules[0].when[0].values: unknown key"));
}

TEST(ParsePolicy, SuggestsWhatIsNear) {
  EXPECT_EQ(rule_error(R"({"syscalls": ["sync", "mkond"], "errno": 1})"),
            "$.rules[0].syscalls[1]: unknown system call (did you mean \"mknod\"?)");
  EXPECT_EQ(rule_error(R"({"syscalls": ["frobnicate"], "errno": 1})"),
            "$.rules[0].syscalls[0]: unknown system call");
  EXPECT_EQ(rule_error(R"({"emulate": "mknodd", "options": {}})"),
            "$.rules[0].emulate: unknown emulator (did you mean \"mknod\"?), "
            "`sidecall emulators` lists them");
}

TEST(ParsePolicy, WantsExactlyOneAction) {
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"]})"),
              HasSubstr("$.rules[0]: says not what to do"));
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "errno": 1, "log": true})"),
              HasSubstr("$.rules[0]: says more than one thing to do"));
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "log": false})"),
              HasSubstr("$.rules[0].log: must be true"));
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "continue": 1})"),
              HasSubstr("$.rules[0].continue: must be true or false"));
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "kill": "group"})"),
              HasSubstr("$.rules[0].kill: must be"));
  EXPECT_EQ(rule_error(R"({"errno": 1})"), "$.rules[0].syscalls: missing");
  EXPECT_EQ(rule_error(R"({"syscalls": [], "errno": 1})"),
            "$.rules[0].syscalls: names no system call");
  EXPECT_EQ(rule_error(R"({"syscalls": ["sync", "sync"], "errno": 1})"),
            "$.rules[0].syscalls[1]: repeated");
}

TEST(ParsePolicy, ChecksNumbers) {
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "errno": 0})"), HasSubstr("1 to 4095"));
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "errno": 4096})"), HasSubstr("1 to 4095"));
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "errno": "EFOO"})"), HasSubstr("unknown errno"));
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "errno": 1.5})"), HasSubstr("whole number"));
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "return": -1})"), HasSubstr("use \"errno\""));
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "return": -4095})"), HasSubstr("use \"errno\""));
  EXPECT_THAT(rule_error(R"({"syscalls": ["sync"], "return": 9223372036854775808})"),
              HasSubstr("more than"));
}

TEST(ParsePolicy, ChecksConditions) {
  const auto when = [](std::string_view conditions) {
    return rule_error(R"({"syscalls": ["sync"], "errno": 1, "when": )" + std::string(conditions) +
                      "}");
  };
  EXPECT_THAT(when("[]"), HasSubstr("$.rules[0].when: must have 1 to 16 conditions"));
  EXPECT_THAT(when("{}"), HasSubstr("$.rules[0].when: must be a list"));
  EXPECT_EQ(when(R"([{"index": 6, "value": 0, "op": "SCMP_CMP_EQ"}])"),
            "$.rules[0].when[0].index: more than 5");
  EXPECT_EQ(when(R"([{"index": 0, "op": "SCMP_CMP_EQ"}])"), "$.rules[0].when[0].value: missing");
  EXPECT_EQ(when(R"([{"index": 0, "value": 1, "op": "SCMP_CMP_MASKED_EQ"}])"),
            "$.rules[0].when[0].valueTwo: missing");
  EXPECT_THAT(when(R"([{"index": 0, "value": 1, "valueTwo": 1, "op": "SCMP_CMP_EQ"}])"),
              HasSubstr("$.rules[0].when[0].valueTwo: only SCMP_CMP_MASKED_EQ"));
  EXPECT_EQ(when(R"([{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"},
                     {"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}])"),
            "$.rules[0].when[1]: repeated");
  EXPECT_EQ(when(R"([{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"},
                     {"index": 0, "value": 2, "op": "SCMP_CMP_EQ"}])"),
            "$.rules[0].when: no call satisfies all of these conditions");
  EXPECT_EQ(when(R"([{"index": 3, "value": 1, "valueTwo": 2, "op": "SCMP_CMP_MASKED_EQ"}])"),
            "$.rules[0].when: no call satisfies all of these conditions");
}

TEST(ParsePolicy, ChecksAnEmulatorsOptions) {
  EXPECT_EQ(rule_error(R"({"emulate": "mknod"})"),
            "$.rules[0].options.devices: missing: emulator \"mknod\" needs it");
  EXPECT_EQ(rule_error(R"({"emulate": "mknod", "options": {"devices": "c 1:3"}})"),
            "$.rules[0].options.devices: must be a list");
  EXPECT_EQ(rule_error(R"({"emulate": "mknod", "options": {"devices": ["c 1:3", 5]}})"),
            "$.rules[0].options.devices[1]: must be a string");
  EXPECT_THAT(rule_error(R"({"emulate": "mknod", "options": {"devices": ["d 1:3"]}})"),
              HasSubstr("$.rules[0].options: devices: "));
  EXPECT_EQ(rule_error(R"({"emulate": "mknod", "syscalls": ["mount"],
                           "options": {"devices": []}})"),
            "$.rules[0].syscalls[0]: emulator \"mknod\" does not serve this call");
  EXPECT_EQ(rule_error(R"({"syscalls": ["sync"], "errno": 1, "options": {}})"),
            "$.rules[0].options: only an emulator has options");
}

TEST(ParsePolicy, OptionsDecideWhichCallsAnEmulatorServes) {
  const std::string names = R"("names": ["trusted.a"])";
  const Policy policy = parsed(with_rules(R"({"emulate": "xattr", "options": {)" + names + "}}"));
  EXPECT_THAT(policy.rules.at(0).syscalls,
              ElementsAre("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr",
                          "fremovexattr"));
  const std::string reading = R"({"emulate": "xattr", "options": {"reads": true, )" + names + "}}";
  EXPECT_EQ(parsed(with_rules(reading)).rules.at(0).syscalls.size(), 12U);
  EXPECT_EQ(
      rule_error(R"({"emulate": "xattr", "syscalls": ["fsetxattr", "getxattr"], "options": {)" +
                 names + "}}"),
      "$.rules[0].syscalls[1]: emulator \"xattr\" does not serve this call with these options");
}

TEST(ParsePolicy, RefusesARuleThatSaysNothingNew) {
  const std::string one = R"("when": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"},
                                      {"index": 1, "value": 2, "op": "SCMP_CMP_NE"}])";
  const std::string turned = R"("when": [{"index": 1, "value": 2, "op": "SCMP_CMP_NE"},
                                         {"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}])";
  EXPECT_EQ(rule_error(R"({"syscalls": ["sync"], "errno": 1, )" + one + R"(},
                          {"syscalls": ["acct", "sync"], "errno": 2, )" +
                       turned + "}"),
            "$.rules[1]: $.rules[0] already decides sync under the same conditions: "
            "remove one of them");
  EXPECT_EQ(rule_error(R"({"syscalls": ["sync"], "errno": 1},
                          {"syscalls": ["sync"], "errno": 2, )" +
                       one + "}"),
            "$.rules[1]: can never be reached for sync, as $.rules[0] decides every call of it: "
            "put this one first");
  EXPECT_EQ(rule_error(R"({"emulate": "mknod", "options": {"devices": []}},
                          {"syscalls": ["mknodat"], "errno": 1})"),
            "$.rules[1]: $.rules[0] already decides mknodat under the same conditions: "
            "remove one of them");
  EXPECT_EQ(rule_error(R"({"syscalls": ["sync"], "errno": 1, )" + one + R"(},
                          {"syscalls": ["sync"], "errno": 2})"),
            "");
}

TEST(ParsePolicy, RefusesWhatIsNoPolicy) {
  EXPECT_EQ(error_of("{}"), "$.rules: missing");
  EXPECT_THAT(error_of("[]"), HasSubstr("$: must be an object"));
  EXPECT_THAT(error_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(R"({"rules": null})"), HasSubstr("$.rules: must be a list"));
  EXPECT_THAT(error_of(R"({"rules": [], "description": null})"), HasSubstr("$.description: must"));
  EXPECT_EQ(rule_error("1"), "$.rules[0]: must be an object");
  EXPECT_THAT(error_of(std::string((1U << 20) + 1, ' ')), HasSubstr("allowed"));
  std::string many;
  for (int i = 0; i < 513; ++i) many += "{},";
  many.pop_back();
  EXPECT_EQ(rule_error(many), "$.rules: has more than 512 rules");
}

}  // namespace
}  // namespace sidecall::policy
