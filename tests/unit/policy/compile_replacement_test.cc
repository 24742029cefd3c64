// A policy for a container whose filter is there already.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "policy/compile.h"

namespace sidecall::policy {
namespace {

using emulators::Rule;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Policy policy_of(const std::string& json) {
  auto policy = parse_policy("p", json);
  EXPECT_TRUE(policy) << policy.error().message;
  return policy.value_or(Policy{});
}

std::vector<emulators::Route> notified_by(const std::string& json) {
  return compile_program(policy_of(json))->routes;
}

constexpr const char* kUname =
    R"({"rules": [{"emulate": "uname", "options": {"release": "1"}}, {"emulate": "sysinfo"}]})";

TEST(CompileReplacement, HasTheRoutesOfTheFilterInTheirOrder) {
  const auto notified = notified_by(kUname);
  const auto replacement = compile_replacement(
      policy_of(
          R"({"rules": [{"emulate": "sysinfo"}, {"emulate": "uname", "options": {"release": "2"}}]})"),
      notified);
  ASSERT_TRUE(replacement) << replacement.error().message;
  ASSERT_EQ(replacement->program.routes.size(), notified.size());
  for (std::size_t index = 0; index < notified.size(); ++index) {
    EXPECT_EQ(replacement->program.routes[index].abi, notified[index].abi);
    EXPECT_EQ(replacement->program.routes[index].nr, notified[index].nr);
    EXPECT_FALSE(replacement->program.routes[index].rules.empty());
  }
  EXPECT_THAT(replacement->notes, IsEmpty());
}

TEST(CompileReplacement, TheWorkerDeniesWhatItsFilterWouldHaveDenied) {
  const auto replacement =
      compile_replacement(policy_of(R"({"rules": [{"syscalls": ["uname"], "errno": "EACCES"},
                              {"syscalls": ["sysinfo"], "kill": "process"}]})"),
                          notified_by(kUname));
  ASSERT_TRUE(replacement) << replacement.error().message;
  for (const auto& route : replacement->program.routes) {
    if (route.name != "uname" && route.name != "sysinfo") continue;
    ASSERT_EQ(route.rules.size(), 1U) << route.name;
    EXPECT_EQ(route.rules[0].action, Rule::Action::kErrno);
    EXPECT_EQ(route.rules[0].number, route.name == "sysinfo" ? EPERM : EACCES);
  }
}

TEST(CompileReplacement, SaysWhatTheFilterDecidesOtherwise) {
  const auto replacement = compile_replacement(
      policy_of(
          R"({"rules": [{"emulate": "sysinfo"}, {"syscalls": ["keyctl"], "errno": "ENOSYS"}]})"),
      notified_by(kUname));
  ASSERT_TRUE(replacement) << replacement.error().message;
  ASSERT_THAT(replacement->notes,
              ElementsAre(HasSubstr("keyctl: the container's filter does not hand it over"),
                          HasSubstr("oldolduname: no longer in the policy"),
                          HasSubstr("olduname: "), HasSubstr("uname: ")));
}

}  // namespace
}  // namespace sidecall::policy
