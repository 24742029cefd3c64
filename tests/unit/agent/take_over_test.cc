// What a new agent makes of what the last one has left, and what it leaves itself.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "unit/agent/registry_fixture.h"

namespace sidecall::agent {
namespace {

using keeper::Label;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class TakeOver : public RegistryTest {
 protected:
  // Of a sandbox "web" whose worker lives.
  Estate estate() {
    orphan_ = std::make_shared<FakeProcess>(2000, "web", "default");
    host_.orphans.push_back(orphan_);
    Estate left;
    left.record.number = 7;
    left.record.identity = {"web", "/bundle", kFirstPid, {}};
    left.record.program.policy = "default";
    left.process = UniqueFd(::fcntl(orphan_->exited.get(), F_DUPFD_CLOEXEC, 0));
    keeping_.records[7] = left.record;
    return left;
  }
  static void add_listener(Estate& left, std::uint64_t tag, pid_t pid, Pipe& pipe) {
    left.listeners.push_back({tag, pid, std::move(pipe.read)});
  }
  void take_over(Estate left) {
    Inheritance inheritance;
    inheritance.estates.push_back(std::move(left));
    inheritance.next_number = 8;
    registry_->take_over(std::move(inheritance));
  }
  std::shared_ptr<FakeProcess> orphan_;
};

TEST_F(TakeOver, ASandboxGoesOnWithItsWorkerAndListeners) {
  Pipe first;
  Pipe second;
  Estate left = estate();
  add_listener(left, 1, kFirstPid, first);
  add_listener(left, 5, 502, second);
  take_over(std::move(left));
  EXPECT_TRUE(is("web", SandboxState::kServing));
  EXPECT_EQ(view("web")->worker_pid, 2000);
  EXPECT_EQ(view("web")->listeners, 2U);
  // The last agent may have died before it could.
  EXPECT_THAT(orphan_->handed,
              ElementsAre(Handed{1, kFirstPid, kFirstPid}, Handed{5, 502, kFirstPid}));
  Pipe third;
  registry_->take(delivery_of(state_of("web"), third, 503));
  EXPECT_EQ(orphan_->handed.back(), (Handed{6, 503, kFirstPid}));
  EXPECT_TRUE(keeping_.has(7, Label::Kind::kListener, 6));
}

TEST_F(TakeOver, AWorkerThatDiedMeanwhileIsReplacedAndGetsTheListeners) {
  Pipe pipe;
  Estate left = estate();
  add_listener(left, 3, 502, pipe);
  orphan_->exit();
  take_over(std::move(left));
  ASSERT_TRUE(loop_.run_until([&] { return host_.workers.size() == 2; }));
  host_.worker(1).ready();
  ASSERT_TRUE(loop_.run_until([&] { return !host_.worker(1).handed.empty(); }));
  EXPECT_THAT(host_.worker(1).handed, ElementsAre(Handed{3, 502, kFirstPid}));
  EXPECT_FALSE(pipe.reader_gone());
}

TEST_F(TakeOver, RestartsAreCountedOnInTheMemoryOfTheWorker) {
  const auto memory =
      std::make_shared<worker::Statistics>(std::move(*worker::Statistics::create({})));
  memory->header().restarts = 5;
  host_.memory = memory;
  take_over(estate());
  EXPECT_EQ(view("web")->worker_restarts, 5U);
  orphan_->exit();
  ASSERT_TRUE(loop_.run_until([&] { return host_.workers.size() == 2; }));
  EXPECT_EQ(memory->header().restarts, 6U);
  EXPECT_TRUE(keeping_.has(7, Label::Kind::kMemory));
}

TEST_F(TakeOver, AWorkerThatDiesLaterIsReplaced) {
  Pipe pipe;
  Estate left = estate();
  add_listener(left, 1, kFirstPid, pipe);
  take_over(std::move(left));
  orphan_->exit();
  EXPECT_TRUE(loop_.run_until([&] { return host_.workers.size() == 2; }));
  EXPECT_EQ(view("web")->worker_restarts, 1U);
}

TEST_F(TakeOver, ASandboxThatEndedMeanwhileIsEnded) {
  Pipe pipe;
  Estate left = estate();
  add_listener(left, 1, kFirstPid, pipe);
  pipe.write.reset();
  take_over(std::move(left));
  EXPECT_TRUE(orphan_->finished);
  orphan_->exit();
  ASSERT_TRUE(loop_.run_until([&] { return view("web") == nullptr; }));
  EXPECT_THAT(keeping_.records, IsEmpty());
  EXPECT_THAT(host_.workers, SizeIs(1));
}

TEST_F(TakeOver, AnExpectedContainerIsStillExpected) {
  take_over(estate());
  EXPECT_TRUE(is("web", SandboxState::kExpected));
  Pipe pipe;
  registry_->take(delivery_of(state_of("web"), pipe));
  EXPECT_TRUE(is("web", SandboxState::kServing));
  EXPECT_THAT(orphan_->handed, ElementsAre(Handed{1, kFirstPid, kFirstPid}));
  EXPECT_THAT(host_.workers, SizeIs(1));
}

TEST_F(TakeOver, AnExpectedContainerThatNeverCameIsForgotten) {
  begin({.expected = std::chrono::milliseconds{5}});
  host_.dead_pids.insert(kFirstPid);
  take_over(estate());
  EXPECT_TRUE(loop_.run_until([&] { return orphan_->finished; }));
}

TEST_F(TakeOver, AnIncompleteEstateIsLeftToItsWorkerAndSaysSo) {
  Pipe pipe;
  Estate left = estate();
  left.process.reset();
  add_listener(left, 1, kFirstPid, pipe);
  take_over(std::move(left));
  EXPECT_EQ(view("web"), nullptr);
  EXPECT_TRUE(log_.has("sandbox not taken over"));
  EXPECT_THAT(keeping_.records, SizeIs(1)) << "kept for whoever can do more with it";
}

TEST_F(TakeOver, ALaunchThatWasNotFinishedIsForgotten) {
  Estate left = estate();
  left.process.reset();
  take_over(std::move(left));
  EXPECT_EQ(view("web"), nullptr);
  EXPECT_THAT(keeping_.records, IsEmpty());
}

TEST_F(TakeOver, WhatIsLostIsSaidOnlyWhereItsContainerLives) {
  Inheritance inheritance;
  Record& lost = inheritance.lost.emplace_back();
  lost.number = 3;
  lost.identity = {"gone", "", kFirstPid, {}};
  keeping_.records[3] = lost;
  host_.dead_pids.insert(kFirstPid);
  registry_->take_over(std::move(inheritance));
  EXPECT_FALSE(log_.has("not taken over"));
  EXPECT_THAT(keeping_.records, IsEmpty());

  Inheritance second;
  second.lost.emplace_back().identity = {"alive", "", kFirstPid + 1, {}};
  registry_->take_over(std::move(second));
  EXPECT_TRUE(log_.has("alive"));
}

TEST_F(TakeOver, ARefusedRecordIsOneLineAndIsLeftWhereItIs) {
  Inheritance inheritance;
  inheritance.refused.push_back({9, "version 2"});
  keeping_.records[9] = {};
  registry_->take_over(std::move(inheritance));
  EXPECT_TRUE(log_.has("record=9 cause=\"version 2\""));
  EXPECT_THAT(keeping_.records, SizeIs(1));
}

class SafekeepingTest : public RegistryTest {};

TEST_F(SafekeepingTest, HoldsAllOfASandboxUntilItsEnd) {
  Pipe first;
  Pipe second;
  serve("web", first);
  registry_->take(delivery_of(state_of("web"), second, 502));
  ASSERT_THAT(keeping_.records, SizeIs(1));
  EXPECT_EQ(keeping_.records.at(1).identity.id, "web");
  EXPECT_TRUE(keeping_.has(1, Label::Kind::kProcess));
  EXPECT_TRUE(keeping_.has(1, Label::Kind::kControl));
  EXPECT_TRUE(keeping_.has(1, Label::Kind::kListener, 1));
  EXPECT_TRUE(keeping_.has(1, Label::Kind::kListener, 2));
  host_.worker(0).close_listener(2);
  ASSERT_TRUE(loop_.run_until([&] { return second.reader_gone(); }));
  EXPECT_FALSE(keeping_.has(1, Label::Kind::kListener, 2));
  EXPECT_TRUE(keeping_.has(1, Label::Kind::kListener, 1));
  host_.worker(0).close_listener(1);
  ASSERT_TRUE(loop_.run_until([&] { return host_.worker(0).finished; }));
  EXPECT_THAT(keeping_.records, IsEmpty());
  EXPECT_THAT(keeping_.kept, IsEmpty());
}

TEST_F(SafekeepingTest, GetsTheReplacementOfAWorker) {
  Pipe pipe;
  serve("web", pipe);
  const int before = keeping_.kept.at({1, Label::Kind::kProcess, 0});
  EXPECT_EQ(before, host_.worker(0).exited.get());
  host_.worker(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return host_.workers.size() == 2; }));
  EXPECT_EQ(keeping_.kept.at({1, Label::Kind::kProcess, 0}), host_.worker(1).exited.get());
}

TEST_F(SafekeepingTest, ThatIsLostGetsEverythingAgain) {
  Pipe pipe;
  serve("web", pipe);
  const auto before = keeping_.kept;
  keeping_.kept.clear();
  registry_->keep_all();
  EXPECT_EQ(keeping_.kept, before);
}

TEST_F(SafekeepingTest, ThatIsFullStartsNoContainer) {
  keeping_.is_full = true;
  expect(state_of("web"));
  EXPECT_THAT(answers_, ElementsAre("No space left on device"));
  EXPECT_THAT(host_.workers, IsEmpty());
  EXPECT_EQ(view("web"), nullptr);
}

TEST_F(SafekeepingTest, OfAContainerWhoseWorkerCannotBeLaunchedIsEmpty) {
  host_.launches = false;
  expect(state_of("web"));
  EXPECT_THAT(keeping_.records, IsEmpty());
}

}  // namespace
}  // namespace sidecall::agent
