// The agent as a whole, on a fake host: its sockets, its start and its end.
#include "agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "base/paths.h"
#include "unit/agent/fake_host.h"
#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using testing::HasSubstr;

class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    ::sigaddset(&signals, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  }
  void TearDown() override { end_keeper(directory_.path()); }
  [[nodiscard]] Result<std::unique_ptr<Agent>> start() {
    return Agent::start({.run_directory = directory_.path(),
                         .keeper_path = SIDECALL_KEEPER,
                         .registry = {.default_policy = "default", .times = {}},
                         .intake = {}},
                        host_, log_.log());
  }
  [[nodiscard]] std::string socket(std::string_view name) const { return directory_ / name; }

  TemporaryDirectory directory_;
  CapturedLog log_;
  FakeHost host_;
};

TEST_F(AgentTest, OpensItsSocketsForItsOwnerAlone) {
  const auto agent = start();
  ASSERT_TRUE(agent) << agent.error().message;
  for (const auto name : {kListenerSocket, kHookSocket, kControlSocket, kKeeperSocket}) {
    struct stat status {};
    ASSERT_EQ(::stat(socket(name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 07777U, 0600U) << name;
  }
}

TEST_F(AgentTest, ASecondOneIsRefusedAndTheFirstNotDisturbed) {
  const auto first = start();
  ASSERT_TRUE(first) << first.error().message;
  const auto second = start();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another sidecalld runs in it, pid "));
  EXPECT_TRUE(std::filesystem::exists(socket(kHookSocket)));
}

TEST_F(AgentTest, ServesAHookAndListenerUntilItIsTold) {
  auto agent = start();
  ASSERT_TRUE(agent) << agent.error().message;
  std::thread runner([&] { EXPECT_TRUE((*agent)->run()); });
  {
    const UniqueFd hook = connect_to(socket(kHookSocket));
    send_bytes(hook, "ping\n");
    finish_sending(hook);
    EXPECT_EQ(read_all(hook), "ok\n");
  }
  ASSERT_EQ(::pthread_sigqueue(runner.native_handle(), SIGTERM, {}), 0);
  runner.join();
}

TEST_F(AgentTest, WhatComesWhileThereIsNoneWaitsForTheNext) {
  ASSERT_TRUE(start());
  const UniqueFd early = connect_to(socket(kHookSocket));
  send_bytes(early, "ping\n");
  finish_sending(early);
  EXPECT_FALSE(peer_closed(early));
  auto next = start();
  ASSERT_TRUE(next) << next.error().message;
  std::thread runner([&] { EXPECT_TRUE((*next)->run()); });
  EXPECT_EQ(read_all(early), "ok\n");
  ASSERT_EQ(::pthread_sigqueue(runner.native_handle(), SIGTERM, {}), 0);
  runner.join();
}

TEST_F(AgentTest, WithoutAKeeperItDoesNotStart) {
  const auto agent = Agent::start({.run_directory = directory_.path(),
                                   .keeper_path = "/nowhere/sidecall-keeper",
                                   .registry = {.default_policy = "default", .times = {}},
                                   .intake = {}},
                                  host_, log_.log());
  ASSERT_FALSE(agent);
  EXPECT_THAT(agent.error().message, HasSubstr("/nowhere/sidecall-keeper"));
}

TEST_F(AgentTest, LeavesNothingOpen) {
  static_cast<void>(start().has_value());  // gRPC keeps what it opens once
  const std::size_t before = open_descriptors();
  { ASSERT_TRUE(start()); }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace sidecall::agent
