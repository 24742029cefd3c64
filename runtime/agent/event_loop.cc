#include "agent/event_loop.h"

#include <algorithm>
#include <array>

namespace sidecall::agent {

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return errno_failure("creating the event loop");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll)));
}

Result<EventLoop::Handle> EventLoop::watch(int fd, Callback callback) {
  const std::uint64_t token = next_token_++;
  // The token, not the descriptor, comes back: a number that is closed and given out again within
  // one batch of events is never mistaken for its predecessor.
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = token;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return errno_failure("watching a descriptor");
  }
  entries_[token] = Entry{fd, {}, std::make_shared<Callback>(std::move(callback))};
  return Handle(*this, token);
}

EventLoop::Handle EventLoop::after(std::chrono::milliseconds delay, Callback callback) {
  const std::uint64_t token = next_token_++;
  const auto deadline = Clock::now() + delay;
  entries_[token] = Entry{-1, deadline, std::make_shared<Callback>(std::move(callback))};
  deadlines_.emplace(deadline, token);
  return {*this, token};
}

void EventLoop::cancel(std::uint64_t token) {
  const auto found = entries_.find(token);
  if (found == entries_.end()) return;
  if (found->second.fd >= 0) {
    // A child process may still share the open file for a moment: closing would not be enough.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);
  } else {
    deadlines_.erase({found->second.deadline, token});
  }
  entries_.erase(found);
}

void EventLoop::call(std::uint64_t token) {
  const auto found = entries_.find(token);
  if (found == entries_.end()) return;
  const auto callback = found->second.callback;
  (*callback)();
}

void EventLoop::run_deferred() {
  while (!deferred_.empty()) {
    for (const Callback& callback : std::exchange(deferred_, {})) callback();
  }
}

void EventLoop::run_due_timers() {
  const auto now = Clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now && !stopped_) {
    const std::uint64_t token = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    call(token);
    entries_.erase(token);
    run_deferred();
  }
}

int EventLoop::timeout_ms() const {
  if (deadlines_.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadlines_.begin()->first - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

Result<void> EventLoop::run() {
  stopped_ = false;
  run_deferred();
  std::array<epoll_event, 64> events{};
  while (!stopped_) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms());
    if (count < 0 && errno != EINTR) return errno_failure("waiting for events");
    for (int i = 0; i < count && !stopped_; ++i) {
      call(events[static_cast<std::size_t>(i)].data.u64);
      run_deferred();
    }
    run_due_timers();
  }
  return {};
}

}  // namespace sidecall::agent
