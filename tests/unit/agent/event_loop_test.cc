#include "agent/event_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using std::chrono::milliseconds;

TEST(EventLoop, CallsBackForAReadableDescriptorUntilTheHandleGoes) {
  TestLoop loop;
  const Pipe pipe;
  int calls = 0;
  EventLoop::Handle handle;
  auto watched = loop->watch(pipe.read.get(), [&] {
    if (++calls == 2) handle.reset();
  });
  ASSERT_TRUE(watched);
  handle = std::move(*watched);
  ASSERT_EQ(::write(pipe.write.get(), "x", 1), 1);
  ASSERT_TRUE(loop.run_until([&] { return calls == 2; }));
  loop.settle();
  EXPECT_EQ(calls, 2);
}

TEST(EventLoop, DoesNotCallAHandleThatWentWithinTheSameBatch) {
  TestLoop loop;
  const Pipe one;
  const Pipe two;
  int calls = 0;
  EventLoop::Handle first;
  EventLoop::Handle second;
  const auto drop_both = [&] {
    ++calls;
    first.reset();
    second.reset();
  };
  first = std::move(*loop->watch(one.read.get(), drop_both));
  second = std::move(*loop->watch(two.read.get(), drop_both));
  ASSERT_EQ(::write(one.write.get(), "x", 1), 1);
  ASSERT_EQ(::write(two.write.get(), "x", 1), 1);
  loop.settle();
  EXPECT_EQ(calls, 1);
}

TEST(EventLoop, TimersRunInTheOrderOfTheirDeadlinesAndOnce) {
  TestLoop loop;
  std::string order;
  const auto late = loop->after(milliseconds{4}, [&] { order += 'c'; });
  const auto early = loop->after(milliseconds{1}, [&] { order += 'a'; });
  const auto middle = loop->after(milliseconds{2}, [&] { order += 'b'; });
  ASSERT_TRUE(loop.run_until([&] { return order.size() == 3; }));
  loop.settle();
  EXPECT_EQ(order, "abc");
}

TEST(EventLoop, ATimerMayArmItselfAgainFromItsOwnCallback) {
  TestLoop loop;
  int calls = 0;
  EventLoop::Handle timer;
  std::function<void()> again = [&] {
    if (++calls < 3) timer = loop->after(milliseconds{0}, again);
  };
  timer = loop->after(milliseconds{0}, again);
  EXPECT_TRUE(loop.run_until([&] { return calls == 3; }));
}

TEST(EventLoop, ACancelledTimerIsNotCalled) {
  TestLoop loop;
  bool called = false;
  auto timer = loop->after(milliseconds{0}, [&] { called = true; });
  timer.reset();
  loop.settle();
  EXPECT_FALSE(called);
}

TEST(EventLoop, DeferredWorkMayDestroyWhoDeferredIt) {
  TestLoop loop;
  auto timer = std::make_unique<EventLoop::Handle>();
  *timer = loop->after(milliseconds{0}, [&] { loop->defer([&] { timer.reset(); }); });
  EXPECT_TRUE(loop.run_until([&] { return timer == nullptr; }));
}

TEST(EventLoop, ADescriptorThatCannotBeWatchedIsAnError) {
  TestLoop loop;
  EXPECT_FALSE(loop->watch(-1, [] {}));
}

}  // namespace
}  // namespace sidecall::agent
