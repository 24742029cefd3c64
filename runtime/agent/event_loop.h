// The agent's one event loop: epoll, timers and deferred work on one thread.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::agent {

// Everything is called on the thread that runs it; there is nothing to lock. Callbacks may add and
// drop handles of their own or of others at will: a callback whose handle is gone is not called any
// more, not even for an event that the same epoll_wait(2) has already brought.
class EventLoop {
 public:
  // Keeps one descriptor watched or one timer armed, for as long as it lives. Must not outlive the
  // loop, and must go before the descriptor that it watches is closed.
  class Handle {
   public:
    Handle() = default;
    Handle(EventLoop& loop, std::uint64_t token) : loop_(&loop), token_(token) {}
    Handle(Handle&& other) noexcept
        : loop_(std::exchange(other.loop_, nullptr)), token_(other.token_) {}
    Handle& operator=(Handle&& other) noexcept {
      Handle taken(std::move(other));
      std::swap(loop_, taken.loop_);
      std::swap(token_, taken.token_);
      return *this;
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() {
      if (loop_ != nullptr) loop_->cancel(token_);
    }
    void reset() { *this = Handle(); }

   private:
    EventLoop* loop_ = nullptr;
    std::uint64_t token_ = 0;
  };

  using Callback = std::function<void()>;

  [[nodiscard]] static Result<std::unique_ptr<EventLoop>> create();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop() = default;

  // Calls back for as long as `fd`, which stays the caller's, is readable or hung up.
  [[nodiscard]] Result<Handle> watch(int fd, Callback callback);
  // Calls back once.
  [[nodiscard]] Handle after(std::chrono::milliseconds delay, Callback callback);
  // Calls back once the present callback has returned: for what would destroy its own caller.
  void defer(Callback callback) { deferred_.push_back(std::move(callback)); }

  // Until stop(). An error is one of epoll itself.
  [[nodiscard]] Result<void> run();
  void stop() { stopped_ = true; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    int fd = -1;  // -1: a timer
    Clock::time_point deadline;
    std::shared_ptr<Callback> callback;  // shared: it may cancel itself while it runs
  };

  explicit EventLoop(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  void cancel(std::uint64_t token);
  void call(std::uint64_t token);
  void run_deferred();
  void run_due_timers();
  [[nodiscard]] int timeout_ms() const;

  UniqueFd epoll_;
  bool stopped_ = false;
  std::uint64_t next_token_ = 1;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::set<std::pair<Clock::time_point, std::uint64_t>> deadlines_;
  std::vector<Callback> deferred_;
};

}  // namespace sidecall::agent
