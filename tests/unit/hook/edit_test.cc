#include "oci_hook/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/hook/fixtures.h"

namespace sidecall::oci_hook {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kNotifying =
    R"({"linux": {"seccomp": {"defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [{"names": ["mount"], "action": "SCMP_ACT_NOTIFY"}]}}})";
constexpr std::string_view kListening =
    R"({"linux": {"seccomp": {"defaultAction": "SCMP_ACT_ALLOW",
        "listenerPath": "/run/other.sock"}}})";

class EditTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Configs, EditTest, testing::ValuesIn(kConfigNames),
                         [](const auto& config) { return config.param; });

TEST_P(EditTest, AddsFilterListenerHooksAndAnnotation) {
  oci::Config config = config_named(GetParam());
  ASSERT_TRUE(apply(config, test_policy("mine"), test_installation()));

  const auto profile = config.seccomp();
  ASSERT_TRUE(profile && *profile);
  EXPECT_EQ((*profile)->listener_path, "/run/sidecall/seccomp.sock");
  EXPECT_EQ((*profile)->listener_metadata, "mine");
  EXPECT_TRUE(std::any_of((*profile)->syscalls.begin(), (*profile)->syscalls.end(),
                          [](const oci::SeccompRule& rule) {
                            return rule.action == "SCMP_ACT_NOTIFY" &&
                                   rule.names == std::vector<std::string>{"sysinfo"};
                          }));
  EXPECT_EQ(config.annotations().at("dev.sidecall.policy"), "mine");
  EXPECT_THAT(config.print(),
              AllOf(HasSubstr("\"createRuntime\""), HasSubstr("\"poststop\""),
                    HasSubstr("\"/usr/libexec/sidecall/sidecall-hook\""), HasSubstr("PATH=")));
}

TEST_P(EditTest, ASecondTimeChangesNothing) {
  oci::Config config = config_named(GetParam());
  ASSERT_TRUE(apply(config, test_policy(), test_installation()));
  const std::string once = config.print();
  ASSERT_TRUE(apply(config, test_policy(), test_installation()));
  EXPECT_EQ(config.print(), once);
  oci::Config reread = parse_config(once);
  ASSERT_TRUE(apply(reread, test_policy(), test_installation()));
  EXPECT_EQ(reread.print(), once);
}

TEST_P(EditTest, TakingOutLeavesWhatWasThereBefore) {
  const oci::Config original = config_named(GetParam());
  oci::Config config = config_named(GetParam());
  ASSERT_TRUE(apply(config, test_policy(), test_installation()));
  ASSERT_TRUE(take_out(config, original, test_installation()));
  EXPECT_EQ(config.seccomp_text(), original.seccomp_text());
  EXPECT_EQ(config.annotations(), original.annotations());
  EXPECT_THAT(config.print(), Not(HasSubstr("sidecall")));
}

TEST_P(EditTest, TakingOutKeepsWhatWasEditedByHand) {
  const oci::Config original = config_named(GetParam());
  oci::Config config = config_named(GetParam());
  ASSERT_TRUE(apply(config, test_policy(), test_installation()));
  config.add_hook("poststop",
                  {.path = "/bin/theirs", .args = {}, .env = {}, .timeout_seconds = {}});
  config.set_annotation("their.key", "value");
  ASSERT_TRUE(take_out(config, original, test_installation()));
  EXPECT_THAT(config.print(),
              AllOf(HasSubstr("/bin/theirs"), HasSubstr("their.key"), Not(HasSubstr("sidecall"))));
}

TEST(EditNotesTest, SaysThatAConfigHasNoSeccompSection) {
  oci::Config config = parse_config("{}");
  const auto notes = apply(config, test_policy(), test_installation());
  ASSERT_TRUE(notes) << notes.error().message;
  ASSERT_FALSE(notes->empty());
  EXPECT_THAT(notes->front(), HasSubstr("no linux.seccomp"));
}

TEST(EditRefusalTest, AnotherListener) {
  oci::Config config = parse_config(kListening);
  const auto notes = apply(config, test_policy(), test_installation());
  ASSERT_FALSE(notes);
  EXPECT_THAT(notes.error().message, AllOf(HasSubstr("/run/other.sock"), HasSubstr("EBUSY")));
  EXPECT_EQ(config.print(), parse_config(kListening).print());
}

TEST(EditRefusalTest, NotifyRulesOfAnotherOrigin) {
  oci::Config config = parse_config(kNotifying);
  const auto notes = apply(config, test_policy(), test_installation());
  ASSERT_FALSE(notes);
  EXPECT_THAT(notes.error().message, HasSubstr("SCMP_ACT_NOTIFY"));
}

TEST(EditRefusalTest, AConfigThatIsPreparedForAnotherPolicy) {
  oci::Config config = parse_config("{}");
  ASSERT_TRUE(apply(config, test_policy("one"), test_installation()));
  const auto notes = apply(config, test_policy("two"), test_installation());
  ASSERT_FALSE(notes);
  EXPECT_THAT(notes.error().message, AllOf(HasSubstr("\"one\""), HasSubstr("\"two\"")));
}

TEST(EditRefusalTest, ARunDirectoryThatNoSocketFitsIn) {
  oci::Config config = parse_config("{}");
  Installation installation = test_installation();
  installation.run_directory = "/" + std::string(100, 'd');
  const auto notes = apply(config, test_policy(), installation);
  ASSERT_FALSE(notes);
  EXPECT_THAT(notes.error().message, HasSubstr("107 bytes"));
}

TEST(EditTakeOutTest, LeavesAProfileThatIsNoLongerOurs) {
  const oci::Config original = parse_config("{}");
  oci::Config config = parse_config(kListening);
  ASSERT_TRUE(take_out(config, original, test_installation()));
  EXPECT_EQ(config.print(), parse_config(kListening).print());
}

TEST(EditTakeOutTest, LeavesAnAnnotationThatWasThereBefore) {
  const std::string text = R"({"annotations": {"dev.sidecall.policy": "mine"}})";
  const oci::Config original = parse_config(text);
  oci::Config config = parse_config(text);
  ASSERT_TRUE(apply(config, test_policy("mine"), test_installation()));
  ASSERT_TRUE(take_out(config, original, test_installation()));
  EXPECT_EQ(config.annotations().at("dev.sidecall.policy"), "mine");
}

TEST(PolicyNameTest, TheAnnotationComesFirst) {
  EXPECT_EQ(policy_name({{"dev.sidecall.policy", "a"}}, "b"), "a");
  EXPECT_EQ(policy_name({{"other", "a"}}, "b"), "b");
}

}  // namespace
}  // namespace sidecall::oci_hook
