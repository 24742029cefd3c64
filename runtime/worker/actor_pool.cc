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
  }
  wake_.notify_all();
  threads_.clear();  // joins
}

void ActorPool::submit(Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (queue_.size() > idle_ && threads_.size() < most_) threads_.emplace_back([this] { run(); });
  }
  wake_.notify_one();
}

void ActorPool::run() {
  const auto acting = factory_();
  if (!acting) {
    std::fprintf(stderr, "sidecall-worker: %s\n", acting.error().message.c_str());
    std::abort();
  }
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
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
