// A sandbox is put under another policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/mailbox.h"
#include "unit/agent/registry_fixture.h"

namespace sidecall::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PolicySetTest : public RegistryTest {
 protected:
  void set(const std::string& id, const std::string& name = "strict") {
    auto policy = policy::parse_policy(name, R"({"rules": [{"emulate": "sysinfo"}]})");
    registry_->set_policy(id, *policy, [this](const auto& notes) {
      answers_.push_back(notes ? "ok" : notes.error().message);
    });
  }
  void exit_retired(std::size_t worker) {
    host_.worker(worker).exit();
    ASSERT_TRUE(loop_.run_until([&] { return host_.workers.size() == worker + 2; }));
  }
  Pipe pipe_;
};

TEST_F(PolicySetTest, AWorkerRetiresAndAnotherGetsTheListeners) {
  serve("web", pipe_);
  set("web");
  EXPECT_TRUE(host_.worker(0).retired);
  EXPECT_TRUE(answers_.empty()) << "not before the new one decides";
  EXPECT_EQ(view("web")->policy, "default");
  exit_retired(0);
  EXPECT_EQ(host_.worker(1).policy, "strict");
  host_.worker(1).ready();
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_THAT(answers_, ElementsAre("ok"));
  EXPECT_EQ(host_.worker(1).handed.size(), 1U);
  EXPECT_EQ(view("web")->policy, "strict");
  EXPECT_EQ(view("web")->worker_restarts, 0U);
  EXPECT_FALSE(log_.has("worker died"));
}

TEST_F(PolicySetTest, AListenerThatComesMeanwhileIsTheNewOnes) {
  serve("web", pipe_);
  set("web");
  Pipe second;
  registry_->take(delivery_of(state_of("web"), second));
  EXPECT_EQ(host_.worker(0).handed.size(), 1U);
  exit_retired(0);
  host_.worker(1).ready();
  ASSERT_TRUE(loop_.run_until([&] { return host_.worker(1).handed.size() == 2; }));
}

TEST_F(PolicySetTest, AWorkerThatDiesInsteadIsReplacedUnderTheNewPolicy) {
  serve("web", pipe_);
  set("web");
  host_.worker(0).killed_by_others = true;
  exit_retired(0);
  EXPECT_TRUE(log_.has("worker died"));
  EXPECT_EQ(host_.worker(1).policy, "strict");
  host_.worker(1).ready();
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_EQ(view("web")->worker_restarts, 1U);
}

TEST_F(PolicySetTest, OneThatDoesNotFinishIsKilled) {
  begin({.end_grace = std::chrono::milliseconds{1}});
  serve("web", pipe_);
  set("web");
  ASSERT_TRUE(loop_.run_until([&] { return host_.worker(0).killed; }));
  ASSERT_TRUE(loop_.run_until([&] { return host_.workers.size() == 2; }));
  EXPECT_EQ(host_.worker(1).policy, "strict");
}

TEST_F(PolicySetTest, OneChangeAtATime) {
  serve("web", pipe_);
  set("web");
  set("web", "other");
  EXPECT_THAT(answers_, ElementsAre(HasSubstr("try again")));
  set("db");
  EXPECT_THAT(answers_.back(), HasSubstr("no sandbox \"db\""));
}

TEST_F(PolicySetTest, ASandboxThatEndsMeanwhileSaysSo) {
  serve("web", pipe_);
  set("web");
  pipe_.write.reset();
  host_.worker(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_THAT(answers_, ElementsAre(HasSubstr("has ended")));
}

TEST(MailboxTest, CallsOnTheLoopWhatOtherThreadsPost) {
  TestLoop loop;
  const auto mailbox = std::move(*Mailbox::open(*loop));
  int called = 0;
  std::thread::id where;
  std::thread([&] {
    for (int count = 0; count < 100; ++count) {
      mailbox->post([&] {
        ++called;
        where = std::this_thread::get_id();
      });
    }
  }).join();
  EXPECT_EQ(called, 0);
  ASSERT_TRUE(loop.run_until([&] { return called == 100; }));
  EXPECT_EQ(where, std::this_thread::get_id());
}

}  // namespace
}  // namespace sidecall::agent
