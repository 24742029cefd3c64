#include "worker/actor_pool.h"

#include <cstdio>
#include <cstdlib>

namespace sidecall::worker {

ActorPool::ActorPool(std::size_t most, ActorFactory factory)
    : most_(most), factory_(std::move(factory)) {}

ActorPool::~ActorPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (Idle* idle : idle_) idle->called.notify_one();
  }
  threads_.clear();  // joins
}

void ActorPool::submit(Work work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  if (!idle_.empty()) {
    Idle* const last = idle_.back();
    idle_.pop_back();
    last->is_called = true;
    last->called.notify_one();
  } else if (threads_.size() < most_) {
    threads_.emplace_back([this] { run(); });
  }
}

bool ActorPool::wait_for_work(std::unique_lock<std::mutex>& lock) {
  while (queue_.empty()) {
    if (ending_) return false;
    Idle idle;
    idle_.push_back(&idle);
    idle.called.wait(lock, [&] { return ending_ || idle.is_called; });
    if (!idle.is_called) std::erase(idle_, &idle);
  }
  return true;
}

void ActorPool::run() {
  const auto acting = factory_();
  if (!acting) {
    std::fprintf(stderr, "sidecall-worker: %s\n", acting.error().message.c_str());
    std::abort();
  }
  std::unique_lock lock(mutex_);
  while (wait_for_work(lock)) {
    {
      const Work work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work(*acting);
    }  // with all that it owns, before the lock is taken again
    lock.lock();
  }
}

}  // namespace sidecall::worker
