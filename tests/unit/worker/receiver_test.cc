#include "worker/receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <unistd.h>

#include <latch>

#include "support/fake_actor.h"
#include "support/fake_listener.h"
#include "support/fake_sandbox.h"

namespace sidecall::worker {
namespace {

using emulators::Rule;
using support::FakeListener;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

emulators::Program sample_program() {
  emulators::Program program;
  program.routes.push_back({.abi = kernel::Abi::kX86_64,
                            .nr = 1,
                            .name = "one",
                            .rules = {{.when = {}, .action = Rule::Action::kValue, .number = 77}}});
  program.instances.push_back(
      {.emulator = "mknod", .options = {{"devices", std::vector<std::string>{"c 1:3"}}}});
  program.routes.push_back({.abi = kernel::Abi::kX86_64,
                            .nr = 133,
                            .name = "mknod",
                            .rules = {{.when = {}, .action = Rule::Action::kEmulate}}});
  return program;
}

class ReceiverTest : public testing::Test {
 protected:
  ReceiverTest()
      : dispatcher_(std::move(*Dispatcher::build(sample_program()))),
        statistics_(std::move(*Statistics::create(sample_program()))),
        report_([this](const std::string& line) { reports_.push_back(line); }),
        pool_({.usual = 1, .most = 1, .works = 2}, [] {
          return Acting{.actor = std::make_unique<support::FakeActor>(), .helper = nullptr};
        }) {
    auto listener = std::make_unique<FakeListener>();
    listener_ = listener.get();
    receiver_ =
        std::make_unique<Receiver>(ServerParts{.dispatcher = dispatcher_,
                                               .sandbox = sandbox_,
                                               .statistics = statistics_,
                                               .report = report_},
                                   std::move(listener), namespaces_, pool_,
                                   ReceiverOptions{.tag = 42, .on_end = [this](std::uint64_t tag) {
                                                     ended_tag_ = tag;
                                                     ended_.count_down();
                                                   }});
  }
  void TearDown() override {
    if (receiver_) listener_->last_user_exits();
  }

  std::int64_t served_value() {
    return listener_->wait_for_answer(listener_->call({.arch = AUDIT_ARCH_X86_64, .nr = 1})).value;
  }

  Dispatcher dispatcher_;
  Statistics statistics_;
  support::FakeSandbox sandbox_;
  std::vector<std::string> reports_;  // read after the thread's end
  const std::function<void(const std::string&)> report_;
  const kernel::SandboxNamespaces namespaces_{};
  ActorPool pool_;
  FakeListener* listener_ = nullptr;  // the receiver's
  std::latch ended_{1};
  std::uint64_t ended_tag_ = 0;
  std::unique_ptr<Receiver> receiver_;
};

TEST_F(ReceiverTest, ServesCallsUntilTheLastUserHasGone) {
  EXPECT_EQ(served_value(), 77);
  EXPECT_EQ(served_value(), 77);
  listener_->last_user_exits();
  ended_.wait();
  EXPECT_EQ(ended_tag_, 42U);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(ReceiverTest, SignalsAndCallersThatGoBetweenAreNormal) {
  for (const int number : {EINTR, ENOENT, EINTR}) listener_->fail_receive(number);
  EXPECT_EQ(served_value(), 77);
}

TEST_F(ReceiverTest, AnyOtherFailureEndsItWithAReport) {
  listener_->fail_receive(EPERM);
  ended_.wait();
  receiver_.reset();
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("EPERM")));
}

TEST_F(ReceiverTest, ACallThatSleepsHoldsTheNextNotBack) {
  std::latch release(1);
  ASSERT_TRUE(pool_.submit({.serve = [&](const Acting&) { release.wait(); },
                            .refuse = {}}));  // the pool's one thread is busy
  const auto mknod = listener_->call(
      {.tid = ::gettid(), .arch = AUDIT_ARCH_X86_64, .nr = 133, .args = {0, 0020666, 0x103}});
  EXPECT_EQ(served_value(), 77);
  EXPECT_FALSE(listener_->answer_to(mknod));
  release.count_down();
  EXPECT_EQ(listener_->wait_for_answer(mknod).errno_value, EFAULT);
}

TEST_F(ReceiverTest, CallsBeyondTheLimitAreRefusedCountedAndReportedOnce) {
  std::latch release(1);
  ASSERT_TRUE(pool_.submit({.serve = [&](const Acting&) { release.wait(); }, .refuse = {}}));
  const auto mknod = [&] {
    return listener_->call(
        {.tid = ::gettid(), .arch = AUDIT_ARCH_X86_64, .nr = 133, .args = {0, 0020666, 0x103}});
  };
  const auto waiting = mknod();  // of the two that the pool takes
  for (int refused = 0; refused < 2; ++refused) {
    EXPECT_EQ(listener_->wait_for_answer(mknod()).errno_value, EAGAIN);
  }
  EXPECT_EQ(served_value(), 77);
  EXPECT_FALSE(listener_->answer_to(waiting));
  release.count_down();
  EXPECT_EQ(listener_->wait_for_answer(waiting).errno_value, EFAULT);
  EXPECT_EQ(statistics_.header().refused, 2U);
  listener_->last_user_exits();
  receiver_.reset();
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("limits")));
}

}  // namespace
}  // namespace sidecall::worker
