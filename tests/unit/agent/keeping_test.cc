// Safekeeping with a real sidecall-keeper.
#include "agent/keeping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>
#include <cstring>

#include "base/paths.h"
#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using keeper::Label;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class KeepingTest : public testing::Test {
 protected:
  void TearDown() override {
    keeping_.reset();
    end_keeper(directory_.path());
  }
  [[nodiscard]] Result<std::unique_ptr<Keeping>> start() {
    return Keeping::start(*loop_, log_.log(), directory_.path(), SIDECALL_KEEPER);
  }
  void begin() {
    keeping_.reset();
    auto started = start();
    ASSERT_TRUE(started) << started.error().message;
    keeping_ = std::move(*started);
  }
  // Only the agent's connection is served: there must be none.
  [[nodiscard]] pid_t keeper_pid() const {
    const auto link = keeper::Link::connect(directory_ / kKeeperSocket);
    return link && *link ? (*link)->keeper_pid() : 0;
  }
  [[nodiscard]] static Record record_of(std::uint64_t number) {
    Record record;
    record.number = number;
    record.identity = {"web", "/bundle", 42, {}};
    record.program.policy = "default";
    return record;
  }

  TemporaryDirectory directory_;
  CapturedLog log_;
  TestLoop loop_;
  std::unique_ptr<Keeping> keeping_;
};

TEST_F(KeepingTest, WhatOneAgentPutsAwayTheNextFinds) {
  begin();
  EXPECT_EQ(keeping_->take_inheritance().next_number, 1U);
  Pipe pipe;
  ASSERT_TRUE(keeping_->begin(record_of(4)));
  keeping_->keep({.sandbox = 4, .tag = 9, .kind = Label::Kind::kListener, .pid = 77},
                 pipe.read.get());
  pipe.read.reset();
  EXPECT_FALSE(pipe.reader_gone());
  begin();
  auto inheritance = keeping_->take_inheritance();
  ASSERT_THAT(inheritance.estates, SizeIs(1));
  ASSERT_THAT(inheritance.estates[0].listeners, SizeIs(1));
  EXPECT_EQ(inheritance.estates[0].listeners[0].tag, 9U);
  EXPECT_EQ(inheritance.estates[0].listeners[0].pid, 77);
  EXPECT_EQ(inheritance.estates[0].record.identity.id, "web");
}

TEST_F(KeepingTest, WhatIsDroppedOrEndedIsClosed) {
  begin();
  Pipe one;
  Pipe other;
  const Label first{.sandbox = 4, .tag = 1, .kind = Label::Kind::kListener};
  ASSERT_TRUE(keeping_->begin(record_of(4)));
  keeping_->keep(first, one.read.get());
  keeping_->keep({.sandbox = 4, .tag = 2, .kind = Label::Kind::kListener}, other.read.get());
  one.read.reset();
  other.read.reset();
  keeping_->drop(first);
  ASSERT_TRUE(loop_.run_until([&] { return one.reader_gone(); }));
  EXPECT_FALSE(other.reader_gone());
  keeping_->end(4);
  ASSERT_TRUE(loop_.run_until([&] { return other.reader_gone(); }));
  begin();
  const auto inheritance = keeping_->take_inheritance();
  EXPECT_THAT(inheritance.estates, IsEmpty());
  EXPECT_THAT(inheritance.lost, IsEmpty());
}

TEST_F(KeepingTest, AKeeperThatDiesIsReplacedAndFilledAgain) {
  begin();
  int filled = 0;
  keeping_->when_empty([&] { ++filled; });
  const pid_t first = keeper_pid();
  ASSERT_GT(first, 0);
  ::kill(first, SIGKILL);
  ASSERT_TRUE(loop_.run_until([&] { return filled == 1; }));
  EXPECT_TRUE(log_.has("keeper lost"));
  EXPECT_TRUE(log_.has("keeper replaced"));
  const pid_t second = keeper_pid();
  EXPECT_GT(second, 0);
  EXPECT_NE(second, first);
}

TEST_F(KeepingTest, OneAfterTheOtherFindsTheSameKeeper) {
  begin();
  const pid_t first = keeper_pid();
  begin();
  EXPECT_EQ(keeper_pid(), first);
}

// In the keeper's place somebody who answers in another version.
TEST_F(KeepingTest, AKeeperOfAnotherReleaseIsNotMistakenForOurs) {
  const std::string path = directory_ / kKeeperSocket;
  const UniqueFd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  ASSERT_EQ(::listen(listening.get(), 1), 0);
  std::thread other([&] {
    const UniqueFd agent(::accept(listening.get(), nullptr, nullptr));
    const std::uint32_t version = keeper::kProtocolVersion + 1;
    ::send(agent.get(), &version, sizeof version, MSG_NOSIGNAL);
    char byte = 0;
    while (::recv(agent.get(), &byte, sizeof byte, 0) > 0) {
    }
  });
  const auto started = start();
  other.join();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("version 2 of the protocol, not 1"));
  EXPECT_THAT(started.error().message, HasSubstr("pid " + std::to_string(::getpid())));
}

}  // namespace
}  // namespace sidecall::agent
