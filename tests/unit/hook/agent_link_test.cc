#include "oci_hook/agent_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/hook/fixtures.h"

namespace sidecall::oci_hook {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = LinkFailure::Kind;

TEST(AgentLinkTest, SendsTheStageAndTheStateAndTakesOk) {
  const TemporaryDirectory directory;
  FakeAgent agent(directory.path(), "ok\n");
  const AgentLink link(directory.path());
  EXPECT_TRUE(link.ping());
  EXPECT_TRUE(link.announce("createRuntime", R"({"id": "x"})"));
  EXPECT_THAT(agent.finish(), ElementsAre("ping\n", "createRuntime\n{\"id\": \"x\"}"));
}

TEST(AgentLinkTest, NoSocketIsAnAbsentAgentAndSaysHowToStartOne) {
  const TemporaryDirectory directory;
  const auto pong = AgentLink(directory.path()).ping();
  ASSERT_FALSE(pong);
  EXPECT_EQ(pong.error().kind, Kind::kAbsent);
  EXPECT_THAT(pong.error().error.message,
              AllOf(HasSubstr(directory.path() + "/hook.sock"), HasSubstr("No such file"),
                    HasSubstr("sidecalld --run-dir " + directory.path()),
                    HasSubstr("systemctl start sidecalld")));
}

TEST(AgentLinkTest, ASocketWithADeadOwnerIsAnAbsentAgent) {
  const TemporaryDirectory directory;
  leave_dead_socket(directory.path());
  const auto pong = AgentLink(directory.path()).ping();
  ASSERT_FALSE(pong);
  EXPECT_EQ(pong.error().kind, Kind::kAbsent);
  EXPECT_THAT(pong.error().error.message, HasSubstr("Connection refused"));
}

TEST(AgentLinkTest, ARefusalIsTheAgentsOwnFirstLineMadePrintable) {
  const TemporaryDirectory directory;
  const FakeAgent agent(directory.path(), "policy \"x\":\x1b[2J no such file\nmore\n");
  const auto announced = AgentLink(directory.path()).announce("createRuntime", "{}");
  ASSERT_FALSE(announced);
  EXPECT_EQ(announced.error().kind, Kind::kRefused);
  EXPECT_EQ(announced.error().error.message, "policy \"x\":?[2J no such file");
}

TEST(AgentLinkTest, AnOkWithMoreBehindItIsNoOk) {
  const TemporaryDirectory directory;
  const FakeAgent agent(directory.path(), "ok\nbut\n");
  EXPECT_FALSE(AgentLink(directory.path()).ping());
}

TEST(AgentLinkTest, AConnectionThatIsClosedWithoutAnAnswerIsTrouble) {
  const TemporaryDirectory directory;
  const FakeAgent agent(directory.path(), "");
  const auto pong = AgentLink(directory.path()).ping();
  ASSERT_FALSE(pong);
  EXPECT_EQ(pong.error().kind, Kind::kTrouble);
}

TEST(AgentLinkTest, SilenceEnds) {
  const TemporaryDirectory directory;
  const FakeAgent agent(directory.path(), "", true);
  const auto pong = AgentLink(directory.path(), std::chrono::milliseconds(20)).ping();
  ASSERT_FALSE(pong);
  EXPECT_EQ(pong.error().kind, Kind::kTrouble);
  EXPECT_THAT(pong.error().error.message, HasSubstr("no answer in time"));
}

TEST(AgentLinkTest, APathThatNoSocketCanHaveIsNamed) {
  const auto pong = AgentLink("/" + std::string(120, 'd')).ping();
  ASSERT_FALSE(pong);
  EXPECT_EQ(pong.error().kind, Kind::kTrouble);
  EXPECT_THAT(pong.error().error.message, HasSubstr("107 bytes"));
}

}  // namespace
}  // namespace sidecall::oci_hook
