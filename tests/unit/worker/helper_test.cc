// Both ends of a line, in one process: what goes over it, and what its end means.
#include "worker/helper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <thread>

#include "base/pass_fd.h"
#include "support/fake_actor.h"

namespace sidecall::worker {
namespace {

using emulators::Step;
using testing::SizeIs;

class HelperTest : public testing::Test {
 protected:
  HelperTest() : dispatcher_(std::move(*Dispatcher::build(program()))) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_ = UniqueFd(ends[0]);
    thread_ = std::jthread(
        [this, theirs = UniqueFd(ends[1])] { perform_steps(theirs.get(), dispatcher_, host_); });
  }
  static emulators::Program program() {
    emulators::Program program;
    program.instances.push_back(
        {.emulator = "mknod", .options = {{"devices", std::vector<std::string>{"c 1:3"}}}});
    return program;
  }
  static Step null_device() {
    Step step;
    step.numbers = {S_IFCHR | 0600, 0x103};
    step.texts.emplace_back("null");
    step.fds.push_back(support::named_fd("parent"));
    return step;
  }

  Dispatcher dispatcher_;
  support::FakeHost host_;
  UniqueFd ours_;
  std::jthread thread_;
};

TEST_F(HelperTest, PerformsWhatAnEmulatorAsksFor) {
  {
    const auto line = helper_line(std::move(ours_));
    EXPECT_TRUE(line->perform(0, null_device()));
    EXPECT_TRUE(line->perform(0, null_device()));
  }
  thread_.join();  // ends with the line
  ASSERT_THAT(host_.made, SizeIs(2));
  EXPECT_EQ(host_.made[1].parent, "parent");
  EXPECT_EQ(host_.made[1].name, "null");
}

TEST_F(HelperTest, AnErrnoIsAnAnswer) {
  host_.failure = ENOSPC;
  const auto line = helper_line(std::move(ours_));
  EXPECT_EQ(line->perform(0, null_device()).error().value, ENOSPC);
  EXPECT_EQ(line->perform(1, null_device()).error().value, EINVAL) << "no such instance";
  Step large = null_device();
  large.texts[0].assign(emulators::kMostStepBytes, 'x');
  EXPECT_EQ(line->perform(0, large).error().value, E2BIG);
}

TEST_F(HelperTest, WhatIsNoStepIsAnsweredAndTheLineStays) {
  EXPECT_TRUE(send_with_fd(ours_.get(), "rubbish", -1));
  auto answer = receive_with_fds(ours_.get(), emulators::kMostStepBytes);
  ASSERT_TRUE(answer);
  auto decoded = emulators::decode_result(answer->bytes, {});
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->error().value, EINVAL);
  const auto line = helper_line(std::move(ours_));
  EXPECT_TRUE(line->perform(0, null_device()));
}

TEST(HelperDeathTest, AHelperThatHasGoneEndsTheWorker) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  UniqueFd(ends[1]).reset();
  const auto line = helper_line(UniqueFd(ends[0]));
  EXPECT_DEATH(static_cast<void>(line->perform(0, Step{})), "the helper has ended");
}

}  // namespace
}  // namespace sidecall::worker
