// Work for the loop from other threads.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "agent/event_loop.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::agent {

class Mailbox {
 public:
  using Letter = std::function<void()>;

  // `loop` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<Mailbox>> open(EventLoop& loop);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() = default;

  // By any thread; `letter` is called on the loop's. What is left when the loop has stopped is
  // never called.
  void post(Letter letter);

 private:
  explicit Mailbox(UniqueFd bell) : bell_(std::move(bell)) {}
  void read();

  UniqueFd bell_;  // an eventfd
  EventLoop::Handle watch_;
  std::mutex mutex_;
  std::vector<Letter> letters_;
};

}  // namespace sidecall::agent
