// What a receiver does with the calls that a dead worker had taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <cstring>
#include <latch>

#include "support/fake_actor.h"
#include "support/fake_listener.h"
#include "support/fake_sandbox.h"
#include "worker/receiver.h"

namespace sidecall::worker {
namespace {

using emulators::Rule;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kTag = 42;
constexpr int kOne = 1;      // answered by the receiver: 77
constexpr int kMknod = 133;  // for an actor, and not to be repeated

emulators::Program sample_program() {
  emulators::Program program;
  program.routes.push_back({.abi = kernel::Abi::kX86_64,
                            .nr = kOne,
                            .name = "one",
                            .rules = {{.when = {}, .action = Rule::Action::kValue, .number = 77}}});
  program.instances.push_back(
      {.emulator = "mknod", .options = {{"devices", std::vector<std::string>{"c 1:3"}}}});
  program.routes.push_back({.abi = kernel::Abi::kX86_64,
                            .nr = kMknod,
                            .name = "mknod",
                            .rules = {{.when = {}, .action = Rule::Action::kEmulate}}});
  return program;
}

class TakeOverTest : public testing::Test {
 protected:
  TakeOverTest()
      : dispatcher_(std::move(*Dispatcher::build(sample_program()))),
        statistics_(std::move(*Statistics::create(sample_program()))),
        report_([this](const std::string& line) { reports_.push_back(line); }),
        pool_({.usual = 1, .most = 1},
              [] {
                return Acting{.actor = std::make_unique<support::FakeActor>(), .helper = nullptr};
              }),
        listener_(std::make_unique<support::FakeListener>()),
        fake_(*listener_) {}
  void TearDown() override {
    fake_.last_user_exits();
    receiver_.reset();
  }

  // A call that a worker has received; its slot is as the worker left it.
  JournalSlot& taken(int nr) {
    const kernel::Notification call{.arch = AUDIT_ARCH_X86_64, .nr = nr};
    kernel::NotificationBuffer buffer{kernel::NotificationSizes{}};
    id_ = fake_.call(call);
    EXPECT_TRUE(fake_.receive(buffer));
    seccomp_notif raw{};
    raw.id = id_;
    raw.data.nr = nr;
    raw.data.arch = AUDIT_ARCH_X86_64;
    std::array<std::byte, sizeof raw> bytes{};
    std::memcpy(bytes.data(), &raw, sizeof raw);
    JournalSlot& slot = *statistics_.journal().take(kTag);
    Journal::record(slot, bytes);
    if (nr == kOne) slot.queued = 0;  // received straight into it
    return slot;
  }
  // A worker that had come to the call.
  void die(bool by_itself) {
    for (JournalSlot* slot : statistics_.journal().unfinished(kTag)) slot->left = 0;
    statistics_.journal().blame(by_itself);
  }

  kernel::Response answer() {
    receiver_ =
        std::make_unique<Receiver>(ServerParts{.dispatcher = dispatcher_,
                                               .sandbox = sandbox_,
                                               .statistics = statistics_,
                                               .report = report_},
                                   std::move(listener_), namespaces_, pool_,
                                   ReceiverOptions{.tag = kTag, .on_end = [](std::uint64_t) {}});
    return fake_.wait_for_answer(id_);
  }

  Dispatcher dispatcher_;
  Statistics statistics_;
  support::FakeSandbox sandbox_;
  std::vector<std::string> reports_;  // of the receiver's thread, before it answers
  const std::function<void(const std::string&)> report_;
  const kernel::SandboxNamespaces namespaces_{};
  ActorPool pool_;
  std::unique_ptr<support::FakeListener> listener_;
  support::FakeListener& fake_;
  std::uint64_t id_ = 0;
  std::unique_ptr<Receiver> receiver_;
};

TEST_F(TakeOverTest, ACallThatWasTakenIsAnswered) {
  taken(kOne);
  die(true);
  EXPECT_EQ(answer().value, 77);
  EXPECT_THAT(reports_, IsEmpty());
  EXPECT_EQ(statistics_.header().poisonous, 0U);
}

TEST_F(TakeOverTest, ACallOfWhichTwoWorkersCrashedIsGivenUp) {
  taken(kOne);
  die(true);
  die(true);
  EXPECT_EQ(answer().errno_value, EIO);
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("a call of one is answered with EIO")));
  EXPECT_EQ(statistics_.header().poisonous, 1U);
}

TEST_F(TakeOverTest, WorkersThatWereKilledCountHalfAsMuch) {
  taken(kOne);
  for (int death = 0; death < 3; ++death) die(false);
  EXPECT_EQ(answer().value, 77);
}

TEST_F(TakeOverTest, FourOfThemAreEnough) {
  taken(kOne);
  for (int death = 0; death < 4; ++death) die(false);
  EXPECT_EQ(answer().errno_value, EIO);
}

TEST_F(TakeOverTest, WorkersThatDidNotComeToItAreNotCounted) {
  taken(kOne);
  die(true);
  for (int death = 0; death < 9; ++death) statistics_.journal().blame(true);
  EXPECT_EQ(answer().value, 77);
}

TEST_F(TakeOverTest, ACallThatOnlyWaitedForAnActorIsNotToBlame) {
  taken(kMknod);
  die(true);
  die(true);
  EXPECT_NE(answer().errno_value, EIO);
  EXPECT_EQ(statistics_.header().poisonous, 0U);
}

TEST_F(TakeOverTest, ACallThatCannotBeRepeatedIsInterrupted) {
  taken(kMknod).acting = 1;
  die(true);
  EXPECT_EQ(answer().errno_value, EINTR);
}

TEST_F(TakeOverTest, TheNextCallInASlotIsInnocent) {
  JournalSlot& slot = taken(kOne);
  die(true);
  die(true);
  Journal::release(slot);
  EXPECT_FALSE(statistics_.journal().take(kTag)->is_poisonous());
}

}  // namespace
}  // namespace sidecall::worker
