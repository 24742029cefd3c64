// A sandbox whose policy has remote rules: its bridge lives, dies and is connected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/agent/registry_fixture.h"

namespace sidecall::agent {
namespace {

using bridge::BridgeReport;
using bridge::ToBridge;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Told = FakeBridgeProcess::Told;

class SandboxBridgeTest : public RegistryTest {
 protected:
  SandboxBridgeTest() { host_.plugins = {"/run/plugin.sock"}; }

  [[nodiscard]] bool is_told(std::size_t bridge, ToBridge::Kind kind, std::ptrdiff_t times = 1) {
    return loop_.run_until([&] {
      const auto& told = host_.bridge(bridge).told;
      return std::count_if(told.begin(), told.end(),
                           [&](const Told& each) { return each.kind == kind; }) == times;
    });
  }
};

TEST_F(SandboxBridgeTest, ThereIsNoneWithoutRemoteRules) {
  host_.plugins.clear();
  expect(state_of("web"));
  EXPECT_THAT(host_.bridges, IsEmpty());
}

TEST_F(SandboxBridgeTest, TheHookWaitsForThePlugin) {
  expect(state_of("web"));
  ASSERT_THAT(host_.bridges, SizeIs(1));
  host_.worker(0).ready();
  ASSERT_TRUE(is_told(0, ToBridge::Kind::kWorker));
  EXPECT_THAT(host_.worker(0).bridged, SizeIs(1));
  host_.bridge(0).report(BridgeReport::Kind::kDisconnected);
  ASSERT_TRUE(is_told(0, ToBridge::Kind::kConnection));
  EXPECT_TRUE(host_.bridge(0).told.back().with_fd);
  EXPECT_THAT(answers_, IsEmpty());
  host_.bridge(0).report(BridgeReport::Kind::kServing);
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_THAT(answers_, ElementsAre("ok"));
}

TEST_F(SandboxBridgeTest, APluginThatIsNotThereIsTriedAgainAndSaidOnce) {
  host_.has_plugins = false;
  expect(state_of("web"));
  host_.worker(0).ready();
  host_.bridge(0).report(BridgeReport::Kind::kDisconnected);
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_THAT(answers_, ElementsAre("ok"));
  EXPECT_TRUE(is_told(0, ToBridge::Kind::kAbsent));
  EXPECT_TRUE(log_.has("plugin not there"));
  host_.has_plugins = true;
  ASSERT_TRUE(is_told(0, ToBridge::Kind::kConnection));
  EXPECT_TRUE(is_told(0, ToBridge::Kind::kAbsent));
}

TEST_F(SandboxBridgeTest, ADeadBridgeIsReplacedAndConnectedAgain) {
  Pipe pipe;
  serve("web", pipe);
  ASSERT_THAT(host_.worker(0).bridged, SizeIs(1));
  host_.bridge(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return host_.worker(0).bridged.size() == 2; }));
  EXPECT_GT(host_.worker(0).bridged[1], host_.worker(0).bridged[0]);
  EXPECT_TRUE(log_.has("bridge died"));
  // What its worker says of the first one is no news.
  host_.worker(0).report(worker::WorkerReport::Kind::kBridgeLost, host_.worker(0).bridged[0]);
  host_.worker(0).report(worker::WorkerReport::Kind::kMessage);
  ASSERT_TRUE(loop_.run_until([&] { return log_.has("its last words"); }));
  EXPECT_FALSE(host_.bridge(1).killed);
  // Of the second it is: it is replaced.
  host_.worker(0).report(worker::WorkerReport::Kind::kBridgeLost, host_.worker(0).bridged[1]);
  ASSERT_TRUE(loop_.run_until([&] { return host_.bridges.size() == 3; }));
  EXPECT_TRUE(host_.bridge(1).killed);
}

TEST_F(SandboxBridgeTest, AnotherWorkerIsConnectedToTheSameBridge) {
  Pipe pipe;
  serve("web", pipe);
  host_.worker(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return host_.workers.size() == 2; }));
  host_.worker(1).ready();
  ASSERT_TRUE(is_told(0, ToBridge::Kind::kWorker, 2));
  EXPECT_THAT(host_.worker(1).bridged, SizeIs(1));
  EXPECT_THAT(host_.bridges, SizeIs(1));
}

TEST_F(SandboxBridgeTest, ItEndsWithItsSandbox) {
  Pipe pipe;
  serve("web", pipe);
  pipe.write.reset();
  host_.worker(0).close_listener(1);
  ASSERT_TRUE(loop_.run_until([&] { return host_.worker(0).finished; }));
  EXPECT_FALSE(host_.bridge(0).killed);  // calls may be under way
  host_.worker(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return view("web") == nullptr; }));
  EXPECT_TRUE(host_.bridge(0).killed);
}

TEST_F(SandboxBridgeTest, BothItsDescriptorsAreInSafekeeping) {
  Pipe pipe;
  serve("web", pipe);
  using Kind = keeper::Label::Kind;
  EXPECT_TRUE(keeping_.has(1, Kind::kBridgeProcess));
  EXPECT_TRUE(keeping_.has(1, Kind::kBridgeControl));
}

}  // namespace
}  // namespace sidecall::agent
