// One contract for a listener: the kernel keeps it, and the fake that unit tests use keeps it too.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "kernel/abi.h"
#include "kernel/callers.h"
#include "kernel/listener.h"
#include "kernel/trial.h"
#include "support/fd_name.h"
#include "support/native_abi.h"

namespace sidecall::kernel_tests {
namespace {

using kernel::Listener;
using kernel::Notification;
using kernel::NotificationBuffer;
using kernel::NotificationSizes;

constexpr Args kNoArgs{};

struct Side {
  const char* name;
  std::unique_ptr<Callers> (*make)();
};

class ListenerContract : public testing::TestWithParam<Side> {
 protected:
  void SetUp() override {
    callers_ = GetParam().make();
    ASSERT_NE(callers_, nullptr);
    const auto sizes = kernel::notification_sizes();
    ASSERT_TRUE(sizes) << sizes.error().message;
    buffer_.emplace(*sizes);
  }

  Listener& listener() { return callers_->listener(); }
  NotificationBuffer& buffer() { return *buffer_; }

  // A call whose answer is owed.
  Notification called(int caller, const Args& args = kNoArgs) {
    callers_->make_call(caller, args);
    const auto got = listener().receive(buffer());
    EXPECT_TRUE(got) << errno_name(got.error().value);
    return got.value_or(Notification{});
  }
  void answer(const kernel::Response& response) {
    const auto sent = listener().reply(response, buffer());
    EXPECT_TRUE(sent) << errno_name(sent.error().value);
  }
  // The errno of a reply that must fail.
  int refused(const kernel::Response& response) {
    const auto sent = listener().reply(response, buffer());
    return sent ? 0 : sent.error().value;
  }

  // Runs receive() on a thread of its own, interrupting it until it returns. Its errno, or 0.
  int interrupted_receive() {
    std::atomic<bool> done = false;
    int number = 0;
    std::thread receiver([&] {
      const auto got = listener().receive(buffer());
      number = got ? 0 : got.error().value;
      done = true;
    });
    while (!done) {
      callers_->interrupt(receiver);
      std::this_thread::yield();
    }
    receiver.join();
    return number;
  }

  std::unique_ptr<Callers> callers_;
  std::optional<NotificationBuffer> buffer_;
};

INSTANTIATE_TEST_SUITE_P(Listeners, ListenerContract,
                         testing::Values(Side{"Kernel", real_callers}, Side{"Fake", fake_callers}),
                         [](const auto& side) { return std::string(side.param.name); });

TEST_P(ListenerContract, ACallArrivesWithItsNumberArchitectureThreadAndWholeRegisters) {
  const Args args = {1, ~0ULL, 0x8000'0000'0000'0000, 0x1234'5678'9abc'def0, 0, 6};
  const Notification call = called(1, args);
  EXPECT_EQ(call.nr, SYS_getppid);
  EXPECT_EQ(call.arch, kernel::audit_arch(support::kNativeAbi));
  EXPECT_EQ(call.tid, callers_->tid(1));
  EXPECT_EQ(call.args, args);
  answer({.id = call.id});
}

TEST_P(ListenerContract, AValueReachesTheCallerWhole) {
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{42}, std::int64_t{1} << 40}) {
    answer({.id = called(0).id, .value = value});
    const Returned returned = callers_->wait_for_return(0);
    EXPECT_EQ(returned.value, value);
    EXPECT_EQ(returned.error, 0);
  }
}

TEST_P(ListenerContract, AnErrnoReachesTheCaller) {
  for (const int number : {EPERM, ENOSYS, 4095}) {
    answer({.id = called(0).id, .errno_value = number});
    const Returned returned = callers_->wait_for_return(0);
    EXPECT_EQ(returned.value, -1);
    EXPECT_EQ(returned.error, number);
  }
}

TEST_P(ListenerContract, ACallThatProceedsIsTheKernels) {
  answer({.id = called(0).id, .proceed = true});
  EXPECT_EQ(callers_->wait_for_return(0).value, callers_->native_value(0));
}

TEST_P(ListenerContract, AnAnswerIsEitherToProceedOrAResult) {
  const Notification call = called(0);
  EXPECT_EQ(refused({.id = call.id, .value = 1, .proceed = true}), EINVAL);
  EXPECT_EQ(refused({.id = call.id, .errno_value = EPERM, .proceed = true}), EINVAL);
  EXPECT_TRUE(listener().is_waiting(call.id));
  answer({.id = call.id});
}

TEST_P(ListenerContract, ACallWaitsFromItsReceiptToItsAnswer) {
  const Notification call = called(0);
  EXPECT_TRUE(listener().is_waiting(call.id));
  EXPECT_FALSE(listener().is_waiting(call.id + 1000));
  answer({.id = call.id});
  static_cast<void>(callers_->wait_for_return(0));
  EXPECT_FALSE(listener().is_waiting(call.id));
}

TEST_P(ListenerContract, ACallIsAnsweredOnce) {
  const Notification call = called(0);
  answer({.id = call.id, .value = 1});
  EXPECT_EQ(callers_->wait_for_return(0).value, 1);
  EXPECT_EQ(refused({.id = call.id, .value = 2}), ENOENT);
}

TEST_P(ListenerContract, IdsDiffer) {
  const Notification first = called(0);
  const Notification second = called(1);
  answer({.id = first.id});
  static_cast<void>(callers_->wait_for_return(0));
  const Notification third = called(0);
  EXPECT_THAT((std::set<std::uint64_t>{first.id, second.id, third.id}), testing::SizeIs(3));
  answer({.id = second.id});
  answer({.id = third.id});
}

TEST_P(ListenerContract, CallsInFlightAreAnsweredInAnyOrder) {
  const Notification first = called(0, {10});
  const Notification second = called(1, {20});
  EXPECT_EQ(first.args[0], 10U);
  EXPECT_EQ(second.args[0], 20U);
  answer({.id = second.id, .value = 200});
  EXPECT_EQ(callers_->wait_for_return(1).value, 200);
  EXPECT_TRUE(listener().is_waiting(first.id));
  answer({.id = first.id, .value = 100});
  EXPECT_EQ(callers_->wait_for_return(0).value, 100);
}

TEST_P(ListenerContract, AKilledCallerWaitsForNothingAndTheOtherIsServed) {
  const Notification call = called(0);
  callers_->kill(0);
  EXPECT_FALSE(listener().is_waiting(call.id));
  EXPECT_EQ(refused({.id = call.id, .value = 1}), ENOENT);
  const UniqueFd fd = support::named_fd("late");
  EXPECT_EQ(listener().add_fd(call.id, fd.get(), true, false).error().value, ENOENT);
  EXPECT_FALSE(listener().hung_up());
  answer({.id = called(1).id, .value = 5});
  EXPECT_EQ(callers_->wait_for_return(1).value, 5);
}

TEST_P(ListenerContract, ASignalEndsReceiveAndTheNextCallIsServed) {
  EXPECT_EQ(interrupted_receive(), EINTR);
  EXPECT_FALSE(listener().hung_up());
  answer({.id = called(0).id, .value = 5});
  EXPECT_EQ(callers_->wait_for_return(0).value, 5);
}

TEST_P(ListenerContract, ItHangsUpWhenTheLastUserHasExited) {
  answer({.id = called(0).id});
  static_cast<void>(callers_->wait_for_return(0));
  EXPECT_FALSE(listener().hung_up());
  callers_->finish();
  EXPECT_TRUE(listener().hung_up());
  // Before Linux 6.11 a receive after the end blocks until a signal comes.
  EXPECT_THAT(interrupted_receive(), testing::AnyOf(ENOENT, EINTR));
}

TEST_P(ListenerContract, AnAddedDescriptorIsTheCallersAndTheAnswerIsStillOwed) {
  for (const bool cloexec : {false, true}) {
    const UniqueFd fd = support::named_fd("given");
    ASSERT_EQ(::pwrite(fd.get(), "x", 1, 0), 1);
    const Notification call = called(0);
    const auto number = listener().add_fd(call.id, fd.get(), cloexec, false);
    ASSERT_TRUE(number) << errno_name(number.error().value);
    EXPECT_TRUE(listener().is_waiting(call.id));
    answer({.id = call.id, .value = *number});
    EXPECT_EQ(callers_->wait_for_return(0).value, *number);
    EXPECT_EQ(callers_->read_byte(0, *number).value, 'x');
    EXPECT_EQ(callers_->descriptor_flags(0, *number).value, cloexec ? FD_CLOEXEC : 0);
  }
}

TEST_P(ListenerContract, ACallIsPendingUntilItIsReceived) {
  EXPECT_FALSE(listener().has_pending());
  callers_->make_call(0, kNoArgs);
  while (!listener().has_pending()) std::this_thread::yield();
  const auto got = listener().receive(buffer());
  ASSERT_TRUE(got) << errno_name(got.error().value);
  EXPECT_FALSE(listener().has_pending());
  answer({.id = got->id});
}

TEST_P(ListenerContract, AnAddedDescriptorCanBeTheAnswer) {
  const UniqueFd fd = support::named_fd("given");
  const Notification call = called(0);
  const auto number = listener().add_fd(call.id, fd.get(), true, true);
  ASSERT_TRUE(number) << errno_name(number.error().value);
  EXPECT_EQ(callers_->wait_for_return(0).value, *number);
  EXPECT_FALSE(listener().is_waiting(call.id));
}

TEST_P(ListenerContract, WhatIsNoDescriptorIsNotAdded) {
  const Notification call = called(0);
  EXPECT_EQ(listener().add_fd(call.id, -1, true, false).error().value, EBADF);
  EXPECT_TRUE(listener().is_waiting(call.id));
  answer({.id = call.id});
}

TEST_P(ListenerContract, SynchronousWakeUpGoesOnAndOffAndCallsAreServedInBoth) {
  const auto set = listener().set_sync_wake_up(true);
  if (!set) {
    EXPECT_THAT(set.error().value, testing::AnyOf(EINVAL, ENOTTY));
    EXPECT_FALSE(kernel::enable_sync_wake_up(listener()));
    GTEST_SKIP() << "synchronous wake-up needs Linux 6.6";
  }
  answer({.id = called(0).id, .value = 1});
  EXPECT_EQ(callers_->wait_for_return(0).value, 1);
  EXPECT_TRUE(listener().set_sync_wake_up(false));
  answer({.id = called(0).id, .value = 2});
  EXPECT_EQ(callers_->wait_for_return(0).value, 2);
  EXPECT_TRUE(kernel::enable_sync_wake_up(listener()));
}

TEST_P(ListenerContract, BuffersForALargerKernelsStructuresWork) {
  buffer_.emplace(NotificationSizes{.notification = 4096, .response = 4096});
  for (const std::int64_t value : {1, 2}) {
    answer({.id = called(0, {7}).id, .value = value});
    EXPECT_EQ(callers_->wait_for_return(0).value, value);
  }
  EXPECT_THAT(buffer().notification(),
              testing::AllOf(testing::SizeIs(4096), testing::Each(testing::Eq(std::byte{0}))));
  const auto unknown = buffer().response().subspan(sizeof(seccomp_notif_resp));
  EXPECT_THAT(unknown, testing::Each(testing::Eq(std::byte{0})));
}

TEST(IsListener, KnowsAListenerFromEverythingElse) {
  auto trial = kernel::Trial::start(SYS_getppid, [] { return 0; });
  ASSERT_TRUE(trial) << trial.error().message;
  const UniqueFd listener = trial->take_listener();
  EXPECT_TRUE(kernel::is_listener(listener.get()));

  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  const UniqueFd file = support::named_fd("file");
  const UniqueFd path(::open("/", O_PATH | O_CLOEXEC));
  const UniqueFd device(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {reading.get(), writing.get(), file.get(), path.get(), device.get(), -1}) {
    EXPECT_FALSE(kernel::is_listener(fd)) << support::fd_name(fd);
  }
}

TEST(OpenListener, RefusesWhatIsNone) {
  const auto opened = kernel::open_listener(support::named_fd("file"));
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, testing::HasSubstr("not a seccomp listener"));
}

TEST(Trial, TellsHowItsChildEnded) {
  auto exits = kernel::Trial::start(SYS_getppid, [] { return 7; });
  ASSERT_TRUE(exits) << exits.error().message;
  EXPECT_EQ(exits->wait(), 7);

  auto waits = kernel::Trial::start(SYS_getppid, [] { return ::pause(); });
  ASSERT_TRUE(waits) << waits.error().message;
  waits->kill();
  EXPECT_EQ(waits->wait(), 128 + SIGKILL);
}

}  // namespace
}  // namespace sidecall::kernel_tests
