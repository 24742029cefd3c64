#include "oci_hook/agent_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>

#include "unit/hook/fixtures.h"

namespace sidecall::oci_hook {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
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

TEST(AgentLinkTest, AConnectionThatIsClosedWithoutAnAnswerIsBroken) {
  const TemporaryDirectory directory;
  const FakeAgent agent(directory.path(), "");
  const auto pong = AgentLink(directory.path()).ping();
  ASSERT_FALSE(pong);
  EXPECT_EQ(pong.error().kind, Kind::kBroken);
}

TEST(AgentLinkTest, AnAgentThatComesInTimeIsWaitedFor) {
  const TemporaryDirectory directory;
  leave_dead_socket(directory.path());
  const AgentLink link(directory.path(), {.absence = milliseconds(20'000)});
  auto pong = std::async(std::launch::async, [&] { return link.ping(); });
  EXPECT_EQ(pong.wait_for(milliseconds(30)), std::future_status::timeout);
  std::filesystem::remove(directory.path() + "/hook.sock");
  FakeAgent agent(directory.path(), "ok\n");
  EXPECT_TRUE(pong.get());
}

TEST(AgentLinkTest, AnAgentThatHangsUpIsAskedAgain) {
  const TemporaryDirectory directory;
  auto first = std::make_unique<FakeAgent>(directory.path(), "");
  const AgentLink link(directory.path(), {.absence = milliseconds(20'000)});
  auto announced =
      std::async(std::launch::async, [&] { return link.announce("createRuntime", "{}"); });
  EXPECT_EQ(announced.wait_for(milliseconds(30)), std::future_status::timeout);
  first.reset();
  std::filesystem::remove(directory.path() + "/hook.sock");
  FakeAgent second(directory.path(), "ok\n");
  EXPECT_TRUE(announced.get());
  EXPECT_THAT(second.finish(), ElementsAre("createRuntime\n{}"));
}

TEST(AgentLinkTest, ARefusalIsNotAskedForTwice) {
  const TemporaryDirectory directory;
  FakeAgent agent(directory.path(), "no\n");
  EXPECT_FALSE(AgentLink(directory.path(), {.absence = milliseconds(20'000)}).ping());
  EXPECT_THAT(agent.finish(), SizeIs(1));
}

TEST(AgentLinkTest, HowLongWasWaitedIsSaid) {
  const TemporaryDirectory directory;
  const AgentLink link(directory.path(), {.absence = milliseconds(30)});
  const auto pong = link.ping();
  ASSERT_FALSE(pong);
  EXPECT_EQ(pong.error().kind, Kind::kAbsent);
  EXPECT_THAT(pong.error().error.message, HasSubstr("(waited 30 ms)"));
  EXPECT_THAT(link.ping_once().error().error.message, Not(HasSubstr("waited")));
}

TEST(AgentLinkTest, SilenceEnds) {
  const TemporaryDirectory directory;
  const FakeAgent agent(directory.path(), "", true);
  const auto pong = AgentLink(directory.path(), {.answer = milliseconds(20)}).ping();
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
