#include "agent/event_hub.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace sidecall::agent {
namespace {

using emulators::VerdictKind;

constexpr std::uint32_t bit(int kind) {
  return 1U << static_cast<unsigned>(kind);
}
constexpr std::uint32_t bit(VerdictKind kind) {
  return bit(static_cast<int>(kind));
}

// Of which verdicts a worker is to tell for these kinds of events.
std::uint32_t verdicts_of(std::uint32_t kinds) {
  std::uint32_t verdicts = 0;
  if ((kinds & bit(v1::Event::CALL_DENIED)) != 0) verdicts |= bit(VerdictKind::kErrno);
  if ((kinds & bit(v1::Event::CALL_CONTINUED)) != 0) verdicts |= bit(VerdictKind::kContinue);
  if ((kinds & bit(v1::Event::CALL_EMULATED)) != 0) {
    verdicts |= bit(VerdictKind::kValue) | bit(VerdictKind::kFd);
  }
  return verdicts;
}

constexpr std::uint32_t kBusy = bit(v1::Event::CALL_EMULATED) | bit(v1::Event::CALL_CONTINUED);
constexpr std::uint32_t kCalls = kBusy | bit(v1::Event::CALL_DENIED);

}  // namespace

WatchFilter WatchFilter::of(const v1::WatchRequest& request) {
  WatchFilter filter{.sandbox = request.id()};
  filter.kinds = request.kinds().empty() ? ~kBusy : bit(v1::Event::EVENTS_LOST);
  for (const int kind : request.kinds()) {
    if (v1::Event::Kind_IsValid(kind)) filter.kinds |= bit(kind);
  }
  return filter;
}

bool WatchFilter::passes(const v1::Event& event) const {
  return (kinds & bit(event.kind())) != 0 && (sandbox.empty() || sandbox == event.sandbox());
}

bool EventHub::add(std::shared_ptr<Watcher> watcher, WatchFilter filter, const SnapshotBoard& board,
                   Events* past) {
  const std::lock_guard lock(mutex_);
  if (past != nullptr) *past = recent_locked(filter);
  if (watchers_.size() >= kMostWatchers) return false;
  const Watcher* const key = watcher.get();
  watchers_.emplace(key, std::pair(std::move(watcher), std::move(filter)));
  tell_workers_locked(board);
  return true;
}

void EventHub::remove(const Watcher& watcher, const SnapshotBoard& board) {
  const std::lock_guard lock(mutex_);
  if (watchers_.erase(&watcher) != 0) tell_workers_locked(board);
}

EventHub::Events EventHub::recent(const WatchFilter& filter) const {
  const std::lock_guard lock(mutex_);
  return recent_locked(filter);
}

EventHub::Events EventHub::recent_locked(const WatchFilter& filter) const {
  Events past;
  std::copy_if(recent_.begin(), recent_.end(), std::back_inserter(past),
               [&](const auto& event) { return filter.passes(*event); });
  return past;
}

void EventHub::publish(v1::Event event) {
  const auto shared = std::make_shared<const v1::Event>(std::move(event));
  std::vector<std::shared_ptr<Watcher>> receivers;
  {
    const std::lock_guard lock(mutex_);
    if ((bit(shared->kind()) & kCalls) == 0) {
      recent_.push_back(shared);
      if (recent_.size() > kMostRecent) recent_.pop_front();
    }
    for (const auto& [_, entry] : watchers_) {
      if (entry.second.passes(*shared)) receivers.push_back(entry.first);
    }
  }
  for (const auto& receiver : receivers) receiver->deliver(shared);
}

bool EventHub::is_watched() const {
  const std::lock_guard lock(mutex_);
  return !watchers_.empty();
}

void EventHub::tell_workers(const SnapshotBoard& board) const {
  const std::lock_guard lock(mutex_);
  tell_workers_locked(board);
}

void EventHub::tell_workers_locked(const SnapshotBoard& board) const {
  for (const auto& view : board.read()->sandboxes) {
    if (view->statistics == nullptr) continue;
    std::uint32_t kinds = 0;
    for (const auto& [_, entry] : watchers_) {
      const WatchFilter& filter = entry.second;
      if (filter.sandbox.empty() || filter.sandbox == view->id) kinds |= filter.kinds;
    }
    std::atomic<std::uint32_t>& watched = view->statistics->header().watched;
    // Written only where it changes: workers read it at every call.
    if (watched.load(std::memory_order_relaxed) != verdicts_of(kinds)) {
      watched.store(verdicts_of(kinds), std::memory_order_relaxed);
    }
  }
}

}  // namespace sidecall::agent
