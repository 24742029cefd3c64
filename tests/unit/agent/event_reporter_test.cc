#include "agent/event_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using emulators::VerdictKind;
using worker::EventRecord;

class EventReporterTest : public testing::Test {
 protected:
  EventReporterTest() {
    emulators::Program program;
    program.routes.push_back({kernel::Abi::kX86_64, 133, "mknod", {}});
    memory_ = std::make_shared<worker::Statistics>(std::move(*worker::Statistics::create(program)));
    view_.id = "web";
    view_.statistics = memory_;
  }
  static EventRecord step(std::string_view what, int number = 0) {
    EventRecord record{.kind = EventRecord::Kind::kPrivileged, .tid = 7, .user = 33};
    record.verdict = number == 0 ? VerdictKind::kValue : VerdictKind::kErrno;
    record.number = number;
    record.set_text(what);
    return record;
  }
  std::vector<v1::Event> told() {
    std::vector<v1::Event> events;
    for (const auto& event : hub_.recent({})) events.push_back(*event);
    return events;
  }

  TestLoop loop_;
  SnapshotBoard board_;
  EventHub hub_;
  CapturedLog log_{LogFormat::kText, LogLevel::kError};
  EventReporter reporter_{*loop_, board_, hub_, log_.log()};
  std::shared_ptr<worker::Statistics> memory_;
  SandboxView view_;
};

TEST_F(EventReporterTest, APrivilegedStepIsAnAuditRecordAndAnEvent) {
  memory_->events().push(step("node c 1:3 at /dev/a b\n"));
  memory_->events().push(step("node b 8:0 at /dev/sda", EPERM));
  reporter_.read_calls(view_);
  EXPECT_TRUE(log_.has(
      R"(msg="privileged step" sandbox=web tid=7 uid=33 syscall=mknod what="node c 1:3 at /dev/a b\u000a" verdict=done)"))
      << log_.text();
  EXPECT_TRUE(log_.has(R"(what="node b 8:0 at /dev/sda" verdict=EPERM)"));
  const auto events = told();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind(), v1::Event::PRIVILEGED_STEP);
  EXPECT_EQ(events[0].sandbox(), "web");
  EXPECT_EQ(events[0].call().what(), R"(node c 1:3 at /dev/a b\x0a)");
  EXPECT_EQ(events[0].call().syscall(), "mknod");
  EXPECT_EQ(events[0].call().uid(), 33U);
  EXPECT_EQ(events[1].call().errno_name(), "EPERM");
}

TEST_F(EventReporterTest, WhatAWorkerShouldNotHaveWrittenIsPassedOver) {
  EventRecord record = step("x");
  record.route = 99;
  memory_->events().push(record);
  record.route = 0;
  record.kind = static_cast<EventRecord::Kind>(1234);
  memory_->events().push(record);
  record.kind = EventRecord::Kind::kCall;
  record.verdict = static_cast<VerdictKind>(200);
  memory_->events().push(record);
  reporter_.read_calls(view_);
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(log_.text(), "");
}

TEST_F(EventReporterTest, WhatIsLostIsSaid) {
  for (std::size_t count = 0; count < worker::EventRing::kSlots + 5; ++count) {
    memory_->events().push(step("x"));
  }
  reporter_.ended(view_);
  const auto events = told();
  ASSERT_EQ(events.back().kind(), v1::Event::SANDBOX_ENDED);
  ASSERT_EQ(events.at(events.size() - 2).kind(), v1::Event::EVENTS_LOST);
  EXPECT_EQ(events.at(events.size() - 2).lost(), 5U);
}

TEST_F(EventReporterTest, ReadsByItself) {
  Snapshot snapshot;
  snapshot.sandboxes.push_back(std::make_shared<const SandboxView>(view_));
  board_.publish(std::move(snapshot));
  memory_->events().push(step("x"));
  EXPECT_TRUE(loop_.run_until([&] { return !told().empty(); }));
}

}  // namespace
}  // namespace sidecall::agent
