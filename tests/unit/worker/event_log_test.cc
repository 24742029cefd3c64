#include "worker/event_log.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/fake_target.h"

namespace sidecall::worker {
namespace {

using emulators::Step;
using emulators::StepResult;
using emulators::VerdictKind;

class Answering final : public emulators::Helper {
 public:
  explicit Answering(int number) : number_(number) {}
  SysResult<StepResult> perform(std::uint32_t, const Step&) override {
    if (number_ != 0) return sys_failure(number_);
    return StepResult{};
  }

 private:
  int number_;
};

class Describing final : public emulators::Emulator {
 public:
  explicit Describing(emulators::StepWords words) : words_(std::move(words)) {}
  emulators::Outcome emulate(const emulators::Call&, emulators::Environment&) const override {
    return emulators::Continue{};
  }
  emulators::StepWords describe(const Step&) const override { return words_; }

 private:
  emulators::StepWords words_;
};

class EventLogTest : public testing::Test {
 protected:
  EventLogTest() : statistics_(std::move(*Statistics::create({}))) {
    log_.tell_paths(proc_.get());
    target_.caller.fsuid = 33;
  }
  void perform(const emulators::StepWords& words, const Step& step, int number = 0) {
    Answering helper(number);
    const Describing emulator(words);
    WatchedHelper watched(helper, log_,
                          {.route = 4, .tid = 77, .target = target_, .emulator = emulator});
    static_cast<void>(watched.perform(0, step));
  }
  std::vector<EventRecord> records() { return statistics_.events().drain(); }

  Statistics statistics_;
  int hurried_ = 0;
  EventLog log_{statistics_, [this] { ++hurried_; }};
  UniqueFd proc_ = std::move(*open_file("/proc", O_PATH | O_DIRECTORY));
  support::FakeTarget target_;
};

TEST_F(EventLogTest, AStepIsWrittenDownWithWhoAndWhatAndItsEnd) {
  Step step;
  step.fds.push_back(std::move(*open_file("/usr/bin", O_PATH)));
  perform({.what = "node c 1:3", .name = "null"}, step);
  perform({.what = "node c 1:3", .name = "null"}, step, EPERM);
  const auto records = this->records();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].kind, EventRecord::Kind::kPrivileged);
  EXPECT_EQ(records[0].get_text(), "node c 1:3 at /usr/bin/null");
  EXPECT_EQ(records[0].tid, 77);
  EXPECT_EQ(records[0].user, 33U);
  EXPECT_EQ(records[0].route, 4U);
  EXPECT_EQ(records[0].verdict, VerdictKind::kValue);
  EXPECT_EQ(records[1].verdict, VerdictKind::kErrno);
  EXPECT_EQ(records[1].number, EPERM);
}

TEST_F(EventLogTest, WhatNobodyCouldWantToKnowIsNotWrittenDown) {
  perform({}, {});
  EXPECT_TRUE(records().empty());
}

TEST_F(EventLogTest, OfALongPathTheEndStays) {
  Step step;
  perform({.what = std::string(500, 'w'), .name = std::string(500, 'a') + "/end"}, step);
  const auto records = this->records();
  ASSERT_EQ(records.size(), 1U);
  const std::string_view text = records[0].get_text();
  EXPECT_EQ(text.size(), EventRecord::kMostText);
  EXPECT_TRUE(text.starts_with("www"));
  EXPECT_NE(text.find(" at ...a"), std::string_view::npos);
  EXPECT_TRUE(text.ends_with("/end"));
}

TEST_F(EventLogTest, TellsOfNoCallUntilItIsWatched) {
  EXPECT_FALSE(log_.wants(VerdictKind::kErrno));
  statistics_.header().watched = 1U << static_cast<unsigned>(VerdictKind::kErrno);
  EXPECT_TRUE(log_.wants(VerdictKind::kErrno));
  EXPECT_FALSE(log_.wants(VerdictKind::kValue));
}

TEST_F(EventLogTest, AsksTheReaderToComeOnce) {
  for (std::size_t count = 0; count < EventRing::kSlots; ++count) {
    log_.call(0, 1, VerdictKind::kErrno, EPERM);
  }
  EXPECT_EQ(hurried_, 1);
}

}  // namespace
}  // namespace sidecall::worker
