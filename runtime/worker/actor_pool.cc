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
    for (const auto& bell : bells_) bell->rung.notify_one();
  }
  threads_.clear();  // joins
}

void ActorPool::submit(Work work) {
  Bell* bell = nullptr;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (!idle_.empty()) {
      bell = idle_.back();
      idle_.pop_back();
      bell->has_rung = true;
    } else if (threads_.size() < most_) {
      Bell& its = *bells_.emplace_back(std::make_unique<Bell>());
      threads_.emplace_back([this, &its] { run(its); });
    }
  }
  // Without the lock, for which the thread would only wait again.
  if (bell != nullptr) bell->rung.notify_one();
}

bool ActorPool::wait_for_work(std::unique_lock<std::mutex>& lock, Bell& bell) {
  while (queue_.empty()) {
    if (ending_) return false;
    bell.has_rung = false;
    idle_.push_back(&bell);
    bell.rung.wait(lock, [&] { return ending_ || bell.has_rung; });
    if (!bell.has_rung) std::erase(idle_, &bell);
  }
  return true;
}

void ActorPool::run(Bell& bell) {
  const auto acting = factory_();
  if (!acting) {
    std::fprintf(stderr, "sidecall-worker: %s\n", acting.error().message.c_str());
    std::abort();
  }
  std::unique_lock lock(mutex_);
  while (wait_for_work(lock, bell)) {
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
