// What happens when a worker dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "unit/agent/registry_fixture.h"

namespace sidecall::agent {
namespace {

using testing::ElementsAre;

class Replacement : public RegistryTest {
 protected:
  [[nodiscard]] bool becomes(std::size_t workers) {
    return loop_.run_until([&] { return host_.workers.size() == workers; });
  }
};

TEST_F(Replacement, ANewWorkerGetsEveryLiveListenerUnderItsOldTag) {
  Pipe first;
  Pipe second;
  Pipe third;
  serve("web", first);
  registry_->take(delivery_of(state_of("web"), second, 502));
  registry_->take(delivery_of(state_of("web"), third, 503));
  second.write.reset();  // its users have exited, and the dead worker has not said so
  host_.worker(0).exit();
  ASSERT_TRUE(becomes(2));
  EXPECT_FALSE(first.reader_gone());
  host_.worker(1).ready();
  ASSERT_TRUE(loop_.run_until([&] { return host_.worker(1).handed.size() == 2; }));
  EXPECT_THAT(host_.worker(1).handed,
              ElementsAre(Handed{1, kFirstPid, kFirstPid}, Handed{3, 503, kFirstPid}));
  EXPECT_EQ(host_.worker(1).policy, "default");
  EXPECT_EQ(view("web")->worker_restarts, 1U);
  EXPECT_EQ(view("web")->worker_pid, host_.worker(1).pid);
  EXPECT_TRUE(is("web", SandboxState::kServing));
  EXPECT_TRUE(log_.has("exit status 3"));
}

TEST_F(Replacement, AFirstWorkerThatSomebodyKillsIsReplacedAndTheHookNotDisappointed) {
  expect(state_of("web"));
  host_.worker(0).killed_by_others = true;
  host_.worker(0).exit();
  ASSERT_TRUE(becomes(2));
  EXPECT_TRUE(answers_.empty());
  host_.worker(1).ready();
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_THAT(answers_, ElementsAre("ok"));
}

TEST_F(Replacement, TheCallsThatADeadWorkerWasServingAreBlamed) {
  const auto memory =
      std::make_shared<worker::Statistics>(std::move(*worker::Statistics::create({})));
  host_.memory = memory;
  Pipe pipe;
  serve("web", pipe);
  worker::JournalSlot& slot = *memory->journal().take(1);
  worker::Journal::record(slot, std::vector<std::byte>(80, std::byte{1}));
  slot.acting = 1;
  host_.worker(0).killed_by_others = true;
  host_.worker(0).exit();
  ASSERT_TRUE(becomes(2));
  EXPECT_EQ(slot.blame, 1U);
  host_.worker(1).ready();
  slot.left = 0;  // as the worker that has come to it does
  host_.worker(1).exit();
  ASSERT_TRUE(becomes(3));
  EXPECT_EQ(slot.blame, 3U);
  EXPECT_EQ(memory->header().restarts, 2U) << "for the next agent";
}

TEST_F(Replacement, AListenerThatComesMeanwhileIsHandedToTheNewWorker) {
  Pipe first;
  serve("web", first);
  host_.worker(0).exit();
  ASSERT_TRUE(becomes(2));
  Pipe second;
  registry_->take(delivery_of(state_of("web"), second, 502));
  host_.worker(1).ready();
  EXPECT_TRUE(loop_.run_until([&] { return host_.worker(1).handed.size() == 2; }));
}

TEST_F(Replacement, AWorkerThatDiesWithItsLastListenerIsNotReplaced) {
  Pipe pipe;
  serve("web", pipe);
  pipe.write.reset();
  host_.worker(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return view("web") == nullptr; }));
  EXPECT_EQ(host_.workers.size(), 1U);
}

TEST_F(Replacement, TheLastReportsOfADeadWorkerAreHeard) {
  Pipe pipe;
  serve("web", pipe);
  host_.worker(0).close_listener(1);
  host_.worker(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return view("web") == nullptr; }));
  EXPECT_EQ(host_.workers.size(), 1U);
}

TEST_F(Replacement, AWorkerThatTakesNoListenerIsKilledAndReplaced) {
  Pipe first;
  serve("web", first);
  host_.worker(0).takes_listeners = false;
  Pipe second;
  registry_->take(delivery_of(state_of("web"), second));
  EXPECT_TRUE(host_.worker(0).killed);
  ASSERT_TRUE(becomes(2));
  host_.worker(1).ready();
  EXPECT_TRUE(loop_.run_until([&] { return host_.worker(1).handed.size() == 2; }));
}

TEST_F(Replacement, AWorkerThatClosesItsSocketAndStaysIsKilled) {
  begin({.end_grace = std::chrono::milliseconds{5}});
  Pipe pipe;
  serve("web", pipe);
  host_.worker(0).worker_end.reset();
  ASSERT_TRUE(becomes(2));
  EXPECT_TRUE(host_.worker(0).killed);
}

TEST_F(Replacement, AFailingLaunchIsTriedAgainAndTheListenerHeld) {
  Pipe pipe;
  serve("web", pipe);
  host_.launches = false;
  host_.worker(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return log_.has("worker not replaced, trying again"); }));
  EXPECT_FALSE(pipe.reader_gone());
  EXPECT_EQ(view("web")->worker_pid, 0);
  host_.launches = true;
  EXPECT_TRUE(becomes(2));
}

TEST_F(Replacement, ASandboxThatEndsWhileItsWorkerIsReplacedIsRemoved) {
  Pipe pipe;
  serve("web", pipe);
  host_.launches = false;
  host_.worker(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return log_.has("worker not replaced, trying again"); }));
  pipe.write.reset();
  EXPECT_TRUE(loop_.run_until([&] { return view("web") == nullptr; }));
}

TEST_F(Replacement, TheEndOfTheRegistryIsNotThatOfItsWorkers) {
  Pipe pipe;
  serve("web", pipe);
  registry_.reset();
  EXPECT_FALSE(host_.worker(0).killed);
  EXPECT_FALSE(host_.worker(0).finished);
}

}  // namespace
}  // namespace sidecall::agent
