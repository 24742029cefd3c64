#include "oci_hook/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "unit/hook/fixtures.h"

namespace sidecall::oci_hook {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kHookPath = "/usr/libexec/sidecall/sidecall-hook";
constexpr std::string_view kState =
    R"({"ociVersion": "1.0.2", "id": "c1", "status": "created", "pid": 7, "bundle": "/b"})";
constexpr std::string_view kOptional =
    R"({ "annotations": {"dev.sidecall.optional": "true"} ,  "hostname": "x" })";

class StagesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(replace_file(directory_.path() + "/default.json", kPolicyText, 0644));
    arguments_.run_directory = directory_.path();
    arguments_.policy_directory = directory_.path();
  }
  Outcome precreate_with(std::string_view config) {
    return precreate(arguments_, AgentLink(directory_.path()), kHookPath, config);
  }

  TemporaryDirectory directory_;
  Arguments arguments_;
};

TEST_F(StagesTest, PrecreateEditsTheConfig) {
  FakeAgent agent(directory_.path(), "ok\n");
  const Outcome outcome = precreate_with(config_text("podman"));
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.lines, IsEmpty());
  EXPECT_THAT(outcome.output, AllOf(HasSubstr(directory_.path() + "/seccomp.sock"),
                                    HasSubstr("createRuntime"), HasSubstr("poststop")));
  EXPECT_THAT(agent.finish(), ElementsAre("ping\n"));
}

TEST_F(StagesTest, PrecreateGivesItsOwnOutputBackToTheByte) {
  const FakeAgent agent(directory_.path(), "ok\n");
  const std::string once = precreate_with(config_text("crun")).output;
  ASSERT_FALSE(once.empty());
  EXPECT_EQ(precreate_with(once).output, once);
}

TEST_F(StagesTest, PrecreateFailsWithoutAnAgentAndSaysTheWaysOut) {
  const Outcome outcome = precreate_with(config_text("podman"));
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, IsEmpty());
  EXPECT_THAT(outcome.lines,
              ElementsAre(AllOf(HasSubstr("hook.sock"), HasSubstr("systemctl start sidecalld"),
                                HasSubstr("dev.sidecall.optional=true"))));
}

TEST_F(StagesTest, PrecreateLeavesAnOptionalContainerToItselfWithoutAnAgent) {
  const Outcome outcome = precreate_with(kOptional);
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.output, kOptional);
  EXPECT_THAT(outcome.lines, ElementsAre(HasSubstr("without interception")));
}

TEST_F(StagesTest, PrecreateEditsAnOptionalContainerWithAnAgent) {
  const FakeAgent agent(directory_.path(), "ok\n");
  EXPECT_THAT(precreate_with(kOptional).output, HasSubstr("listenerPath"));
}

TEST_F(StagesTest, PrecreateFailsForAnOptionalContainerWhoseAgentIsSick) {
  const FakeAgent agent(directory_.path(), "no room\n");
  const Outcome outcome = precreate_with(kOptional);
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.lines, ElementsAre("no room"));
}

TEST_F(StagesTest, PrecreateNamesAPolicyThatDoesNotExist) {
  const FakeAgent agent(directory_.path(), "ok\n");
  const Outcome outcome = precreate_with(R"({"annotations": {"dev.sidecall.policy": "nowhere"}})");
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.lines, ElementsAre(HasSubstr("nowhere")));
}

TEST_F(StagesTest, PrecreateRefusesAPolicyNameThatLeavesTheDirectory) {
  const FakeAgent agent(directory_.path(), "ok\n");
  const Outcome outcome =
      precreate_with(R"({"annotations": {"dev.sidecall.policy": "../default"}})");
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.output, IsEmpty());
}

TEST_F(StagesTest, PrecreateRefusesWhatIsNoConfig) {
  const FakeAgent agent(directory_.path(), "ok\n");
  for (const std::string_view text : {"", "{", "[]", "\x01\x02", R"({"linux": 1})"}) {
    const Outcome outcome = precreate_with(text);
    EXPECT_EQ(outcome.exit_status, 1) << text;
    EXPECT_THAT(outcome.output, IsEmpty()) << text;
    EXPECT_THAT(outcome.lines, ElementsAre(HasSubstr("config.json"))) << text;
  }
}

TEST_F(StagesTest, CreateRuntimeAnnouncesTheState) {
  FakeAgent agent(directory_.path(), "ok\n");
  EXPECT_EQ(create_runtime(AgentLink(directory_.path()), kState).exit_status, 0);
  EXPECT_THAT(agent.finish(), ElementsAre("createRuntime\n" + std::string(kState)));
}

TEST_F(StagesTest, CreateRuntimeFailsWithTheAgentsReason) {
  const FakeAgent agent(directory_.path(), "policy \"x\" is bad\n");
  const Outcome outcome = create_runtime(AgentLink(directory_.path()), kState);
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.lines, ElementsAre("policy \"x\" is bad"));
}

TEST_F(StagesTest, CreateRuntimeFailsWithoutAnAgentEvenIfItIsOptional) {
  const std::string state =
      R"({"ociVersion": "1.0.2", "id": "c1", "status": "created", "pid": 7, "bundle": "/b",
          "annotations": {"dev.sidecall.optional": "true"}})";
  const Outcome outcome = create_runtime(AgentLink(directory_.path()), state);
  EXPECT_EQ(outcome.exit_status, 1);
  EXPECT_THAT(outcome.lines, ElementsAre(HasSubstr("sidecalld is not running")));
}

TEST_F(StagesTest, PoststopWarnsAndGoesOnWithoutAnAgent) {
  const Outcome outcome = poststop(AgentLink(directory_.path()), kState);
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.lines, ElementsAre(HasSubstr("sidecalld is not running")));
}

TEST_F(StagesTest, StagesRefuseWhatIsNoState) {
  FakeAgent agent(directory_.path(), "ok\n");
  const AgentLink link(directory_.path());
  for (const std::string_view text : {"", "{}", "createRuntime", R"({"id": "../x"})"}) {
    for (const Outcome& outcome : {create_runtime(link, text), poststop(link, text)}) {
      EXPECT_EQ(outcome.exit_status, 1) << text;
      EXPECT_THAT(outcome.lines, ElementsAre(HasSubstr("OCI state"))) << text;
    }
  }
  EXPECT_THAT(agent.finish(), IsEmpty());
}

}  // namespace
}  // namespace sidecall::oci_hook
