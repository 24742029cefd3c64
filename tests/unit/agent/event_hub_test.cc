#include "agent/event_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::agent {
namespace {

using emulators::VerdictKind;
using testing::ElementsAre;

class Listening final : public Watcher {
 public:
  void deliver(const std::shared_ptr<const v1::Event>& event) override {
    heard.push_back(event->sandbox() + ":" + std::to_string(event->kind()));
  }
  std::vector<std::string> heard;
};

v1::Event event_of(const std::string& sandbox, v1::Event::Kind kind) {
  v1::Event event;
  event.set_sandbox(sandbox);
  event.set_kind(kind);
  return event;
}

WatchFilter filter_of(const std::string& id, const std::vector<v1::Event::Kind>& kinds) {
  v1::WatchRequest request;
  request.set_id(id);
  for (const auto kind : kinds) request.add_kinds(kind);
  return WatchFilter::of(request);
}

constexpr std::uint32_t verdict_bit(VerdictKind kind) {
  return 1U << static_cast<unsigned>(kind);
}

class EventHubTest : public testing::Test {
 protected:
  std::shared_ptr<worker::Statistics> show(const std::string& id) {
    auto statistics =
        std::make_shared<worker::Statistics>(std::move(*worker::Statistics::create({})));
    SandboxView view;
    view.id = id;
    view.statistics = statistics;
    snapshot_.sandboxes.push_back(std::make_shared<const SandboxView>(std::move(view)));
    board_.publish(snapshot_);
    return statistics;
  }

  SnapshotBoard board_;
  Snapshot snapshot_;
  EventHub hub_;
  std::shared_ptr<Listening> watcher_ = std::make_shared<Listening>();
};

TEST_F(EventHubTest, BringsWhatTheFilterLetsThrough) {
  ASSERT_TRUE(hub_.add(watcher_, filter_of("web", {v1::Event::CALL_DENIED}), board_));
  hub_.publish(event_of("web", v1::Event::CALL_DENIED));
  hub_.publish(event_of("db", v1::Event::CALL_DENIED));
  hub_.publish(event_of("web", v1::Event::SANDBOX_ENDED));
  hub_.publish(event_of("web", v1::Event::EVENTS_LOST));
  EXPECT_THAT(watcher_->heard, ElementsAre("web:6", "web:10"));
  hub_.remove(*watcher_, board_);
  hub_.publish(event_of("web", v1::Event::CALL_DENIED));
  EXPECT_EQ(watcher_->heard.size(), 2U);
}

TEST_F(EventHubTest, WorkersTellOfWhatSomebodyWatchesAndOfNothingElse) {
  const auto web = show("web");
  const auto db = show("db");
  ASSERT_TRUE(hub_.add(watcher_, filter_of("web", {v1::Event::CALL_EMULATED}), board_));
  EXPECT_EQ(web->header().watched,
            verdict_bit(VerdictKind::kValue) | verdict_bit(VerdictKind::kFd));
  EXPECT_EQ(db->header().watched, 0U);
  const auto all = std::make_shared<Listening>();
  ASSERT_TRUE(hub_.add(all, filter_of("", {}), board_));
  EXPECT_EQ(db->header().watched, verdict_bit(VerdictKind::kErrno));
  const auto late = show("late");
  hub_.tell_workers(board_);
  EXPECT_EQ(late->header().watched, verdict_bit(VerdictKind::kErrno));
  hub_.remove(*watcher_, board_);
  hub_.remove(*all, board_);
  EXPECT_EQ(web->header().watched, 0U);
  EXPECT_EQ(late->header().watched, 0U);
}

TEST_F(EventHubTest, RemembersTheLastThatAreNotCalls) {
  hub_.publish(event_of("web", v1::Event::SANDBOX_APPEARED));
  hub_.publish(event_of("web", v1::Event::CALL_DENIED));
  hub_.publish(event_of("db", v1::Event::SANDBOX_APPEARED));
  EXPECT_EQ(hub_.recent(filter_of("", {})).size(), 2U);
  EventHub::Events past;
  ASSERT_TRUE(hub_.add(watcher_, filter_of("db", {}), board_, &past));
  EXPECT_EQ(past.size(), 1U);
  for (int count = 0; count < 1000; ++count) hub_.publish(event_of("x", v1::Event::CPUS_CHANGED));
  EXPECT_EQ(hub_.recent(filter_of("", {})).size(), EventHub::kMostRecent);
}

TEST_F(EventHubTest, TakesSoManyWatchersAndNoMore) {
  for (std::size_t count = 0; count < EventHub::kMostWatchers; ++count) {
    EXPECT_TRUE(hub_.add(std::make_shared<Listening>(), {}, board_));
  }
  EXPECT_FALSE(hub_.add(watcher_, {}, board_));
}

}  // namespace
}  // namespace sidecall::agent
