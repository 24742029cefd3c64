#include "agent/listener_intake.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <utility>

#include "base/file.h"
#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kState = R"({
    "ociVersion": "1.0.2",
    "fds": ["seccompFd"],
    "pid": 4321,
    "metadata": "other",
    "state": {
        "ociVersion": "1.0.2",
        "id": "web",
        "status": "creating",
        "pid": 4321,
        "bundle": "/run/web",
        "annotations": {"a": "b"}
    }
})";

class ListenerIntake : public testing::Test {
 protected:
  ListenerIntake() { begin({}); }

  void begin(const IntakeLimits& limits) {
    intake_.reset();
    auto socket = ListeningSocket::bind(path());
    ASSERT_TRUE(socket) << socket.error().message;
    auto intake =
        start_listener_intake(*loop_, log_.log(), std::move(*socket), limits,
                              [this](Delivery each) { delivered_.push_back(std::move(each)); });
    ASSERT_TRUE(intake) << intake.error().message;
    intake_ = std::move(*intake);
  }

  [[nodiscard]] std::string path() const { return directory_ / "seccomp.sock"; }

  // Sends one message and waits until its descriptors are closed on this side too.
  void expect_dropped(std::string_view bytes, const std::vector<int>& fds,
                      const std::string& cause) {
    const std::size_t before = open_descriptors();
    UniqueFd client = connect_to(path());
    if (!bytes.empty() || !fds.empty()) send_bytes(client, bytes, fds);
    finish_sending(client);
    ASSERT_TRUE(loop_.run_until([&] { return log_.has(cause); })) << log_.text();
    EXPECT_TRUE(loop_.run_until([&] { return peer_closed(client); }));
    client.reset();
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_TRUE(delivered_.empty());
    expect_still_serving();
  }

  void expect_still_serving() {
    const std::size_t before = delivered_.size();
    const UniqueFd client = connect_to(path());
    send_bytes(client, kState, {listener_.fd()});
    finish_sending(client);
    EXPECT_TRUE(loop_.run_until([&] { return delivered_.size() == before + 1; })) << log_.text();
  }

  TemporaryDirectory directory_;
  CapturedLog log_;
  TestLoop loop_;
  RealListener listener_;
  std::vector<Delivery> delivered_;
  std::unique_ptr<MessageIntake> intake_;
};

TEST_F(ListenerIntake, DeliversAStateAndItsListener) {
  expect_still_serving();
  ASSERT_EQ(delivered_.size(), 1U);
  const Delivery& delivery = delivered_.front();
  EXPECT_EQ(delivery.process.pid, 4321);
  EXPECT_EQ(delivery.process.metadata, "other");
  EXPECT_EQ(delivery.process.state.id, "web");
  EXPECT_EQ(delivery.process.state.annotations.at("a"), "b");
  EXPECT_GE(delivery.listener.get(), 0);
}

TEST_F(ListenerIntake, PutsSegmentsTogether) {
  const UniqueFd client = connect_to(path());
  send_bytes(client, kState.substr(0, 1), {listener_.fd()});
  loop_.settle();
  send_bytes(client, kState.substr(1, 100));
  loop_.settle();
  EXPECT_TRUE(delivered_.empty());
  send_bytes(client, kState.substr(101));
  finish_sending(client);
  EXPECT_TRUE(loop_.run_until([&] { return delivered_.size() == 1; })) << log_.text();
}

TEST_F(ListenerIntake, ClosesTheListenerOnExec) {
  expect_still_serving();
  EXPECT_NE(::fcntl(delivered_.front().listener.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(ListenerIntake, DropsAStateWithoutADescriptor) {
  expect_dropped(kState, {}, "0 descriptors came with the state, where one is due");
}

TEST_F(ListenerIntake, DropsTwoDescriptors) {
  expect_dropped(kState, {listener_.fd(), listener_.fd()}, "2 descriptors, where at most 1 may");
}

TEST_F(ListenerIntake, DropsMoreDescriptorsThanItHasRoomFor) {
  expect_dropped(kState, std::vector<int>(50, listener_.fd()), "MSG_CTRUNC");
}

TEST_F(ListenerIntake, DropsADescriptorThatIsNoListener) {
  const Pipe pipe;
  expect_dropped(kState, {pipe.read.get()}, "is no seccomp listener");
}

TEST_F(ListenerIntake, DropsWhatIsNoJson) {
  expect_dropped("{\"fds\": [", {listener_.fd()}, "container state: ");
}

TEST_F(ListenerIntake, DropsAStateThatNamesOtherDescriptors) {
  std::string state(kState);
  state.replace(state.find("seccompFd"), 9, "memoryFd");
  expect_dropped(state, {listener_.fd()}, "does not name one");
}

TEST_F(ListenerIntake, DropsAHugeStateWithoutReadingItAll) {
  IntakeLimits limits;
  limits.bytes = 100'000;
  begin(limits);
  expect_dropped(std::string(150'000, ' '), {listener_.fd()}, "more than 100000 bytes");
}

TEST_F(ListenerIntake, DropsAPeerThatNeverFinishes) {
  IntakeLimits limits;
  limits.patience = std::chrono::milliseconds{20};
  begin(limits);
  const UniqueFd client = connect_to(path());
  send_bytes(client, kState.substr(0, 50), {listener_.fd()});
  ASSERT_TRUE(loop_.run_until([&] { return log_.has("it did not end in time"); }));
  EXPECT_TRUE(peer_closed(client));
  EXPECT_TRUE(delivered_.empty());
  expect_still_serving();
}

TEST_F(ListenerIntake, LetsASilentPeerTakeItsTime) {
  IntakeLimits limits;
  limits.patience = std::chrono::milliseconds{1};
  begin(limits);
  const UniqueFd client = connect_to(path());
  loop_.settle();
  EXPECT_FALSE(peer_closed(client));
  send_bytes(client, kState, {listener_.fd()});
  EXPECT_TRUE(loop_.run_until([&] { return delivered_.size() == 1; })) << log_.text();
}

TEST_F(ListenerIntake, DoesNotWaitForTheEndOfTheConnection) {
  const UniqueFd client = connect_to(path());
  send_bytes(client, kState, {listener_.fd()});
  EXPECT_TRUE(loop_.run_until([&] { return delivered_.size() == 1; })) << log_.text();
}

TEST_F(ListenerIntake, TakesAConnectionWithNothingInItForNormal) {
  UniqueFd client = connect_to(path());
  client.reset();
  ASSERT_TRUE(loop_.run_until([&] { return log_.has("a connection without a message"); }));
  EXPECT_FALSE(log_.has("level=warning"));
}

TEST_F(ListenerIntake, LetsPeersBeyondTheLimitWaitAndServesThemThen) {
  IntakeLimits limits;
  limits.connections = 2;
  begin(limits);
  std::vector<UniqueFd> clients;
  clients.reserve(4);
  for (int i = 0; i < 4; ++i) clients.push_back(connect_to(path()));
  // The last two are complete but wait behind the first two, which are silent.
  send_bytes(clients[2], kState, {listener_.fd()});
  send_bytes(clients[3], kState, {listener_.fd()});
  loop_.settle();
  EXPECT_TRUE(delivered_.empty());
  send_bytes(clients[0], kState, {listener_.fd()});
  EXPECT_TRUE(loop_.run_until([&] { return delivered_.size() == 3; }));
  send_bytes(clients[1], kState, {listener_.fd()});
  EXPECT_TRUE(loop_.run_until([&] { return delivered_.size() == 4; }));
}

TEST_F(ListenerIntake, DropsAPeerThatIsNeitherRootNorUs) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  ASSERT_EQ(::chmod(path().c_str(), 0666), 0);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(4242) != 0) ::_exit(1);
    const UniqueFd client = connect_to(path());
    finish_sending(client);
    // Ends when the agent closes.
    ::_exit(read_all(client).empty() ? 0 : 1);
  }
  EXPECT_TRUE(loop_.run_until([&] { return log_.has("peer_uid=4242"); })) << log_.text();
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  expect_still_serving();
}

// Holds duplicates, as the keeper does.
class FakeShelter final : public Shelter {
 public:
  void take_in(std::uint64_t number, int connection) override {
    held[number] = UniqueFd(::fcntl(connection, F_DUPFD_CLOEXEC, 0));
  }
  void let_go(std::uint64_t number) override { held.erase(number); }
  [[nodiscard]] std::vector<std::pair<std::uint64_t, UniqueFd>> take_all() {
    std::vector<std::pair<std::uint64_t, UniqueFd>> all;
    for (const auto& [number, fd] : held) {
      all.emplace_back(number, UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)));
    }
    return all;
  }
  std::map<std::uint64_t, UniqueFd> held;
};

class ShelteredIntake : public ListenerIntake {
 protected:
  ShelteredIntake() { begin_sheltered(); }
  void begin_sheltered() {
    intake_.reset();
    intake_ = std::move(*start_listener_intake(
        *loop_, log_.log(), std::move(*ListeningSocket::bind(path())), {},
        [this](Delivery each) {
          held_at_delivery_ = shelter_.held.size();
          delivered_.push_back(std::move(each));
        },
        &shelter_));
  }
  [[nodiscard]] UniqueFd accepted() {
    const std::size_t before = shelter_.held.size();
    UniqueFd client = connect_to(path());
    EXPECT_TRUE(loop_.run_until([&] { return shelter_.held.size() == before + 1; }));
    return client;
  }
  [[nodiscard]] bool delivers(std::size_t count) {
    return loop_.run_until([&] { return delivered_.size() == count && shelter_.held.empty(); });
  }
  FakeShelter shelter_;
  std::size_t held_at_delivery_ = 0;
};

TEST_F(ShelteredIntake, AConnectionIsShelteredUntilItsMessageIsDelivered) {
  const UniqueFd client = accepted();
  send_bytes(client, kState, {listener_.fd()});
  ASSERT_TRUE(delivers(1));
  EXPECT_EQ(held_at_delivery_, 1U);
}

TEST_F(ShelteredIntake, TheNextAgentGoesOnWithConnectionsThatSaidNothingYet) {
  const UniqueFd first = accepted();
  const UniqueFd second = accepted();
  begin_sheltered();
  intake_->take_over(shelter_.take_all());
  EXPECT_EQ(shelter_.held.size(), 2U);
  send_bytes(second, kState, {listener_.fd()});
  send_bytes(first, kState, {listener_.fd()});
  EXPECT_TRUE(delivers(2));
}

TEST_F(ShelteredIntake, AnAgentThatDiesWithAMessageInHandLeavesItToTheNext) {
  const UniqueFd client = accepted();
  auto kept = shelter_.take_all();
  send_bytes(client, kState, {listener_.fd()});
  ASSERT_TRUE(delivers(1));
  begin_sheltered();
  intake_->take_over(std::move(kept));  // as if it had died just before it let go
  ASSERT_TRUE(delivers(2));
  EXPECT_EQ(delivered_[1].process.state.id, "web");
}

TEST_F(ShelteredIntake, WhatIsDroppedIsLetGo) {
  UniqueFd client = accepted();
  send_bytes(client, "nonsense");
  finish_sending(client);
  EXPECT_TRUE(delivers(0));
  client = accepted();
  client.reset();
  EXPECT_TRUE(delivers(0));
}

TEST_F(ShelteredIntake, ANewShelterGetsThemAgain) {
  const UniqueFd client = accepted();
  const std::uint64_t number = shelter_.held.begin()->first;
  shelter_.held.clear();
  intake_->shelter_all();
  EXPECT_EQ(shelter_.held.count(number), 1U);
}

}  // namespace
}  // namespace sidecall::agent
