#include "worker/actor_pool.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace sidecall::worker {

ActorPool::ActorPool(PoolLimits limits, ActorFactory factory)
    : limits_(limits), factory_(std::move(factory)) {}

ActorPool::~ActorPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const auto& bell : bells_) bell->rung.notify_one();
    watch_.notify_one();
  }
  watcher_.reset();  // joins: from here on nobody starts threads
  threads_.clear();
}

bool ActorPool::submit(Work work) {
  Bell* bell = nullptr;
  bool waits = false;
  {
    const std::lock_guard lock(mutex_);
    if (under_way_ + queue_.size() >= limits_.works) return false;
    queue_.push_back({.work = std::move(work), .since = Clock::now()});
    if (!idle_.empty()) {
      bell = idle_.back();
      idle_.pop_back();
      bell->has_rung = true;
    } else if (threads_.size() < limits_.usual) {
      start_thread();
    } else {
      waits = true;
      if (!watcher_) watcher_.emplace([this] { watch(); });
    }
  }
  // Without the lock, for which the thread would only wait again.
  if (bell != nullptr) bell->rung.notify_one();
  if (waits) watch_.notify_one();
  return true;
}

void ActorPool::start_thread() {
  Bell& bell = *bells_.emplace_back(std::make_unique<Bell>());
  threads_.emplace_back([this, &bell] { run(bell); });
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
      const Work work = std::move(queue_.front().work);
      queue_.pop_front();
      ++begun_;
      ++under_way_;
      lock.unlock();
      work.serve(*acting);
    }  // with all that it owns, before the lock is taken again
    lock.lock();
    --under_way_;
  }
}

void ActorPool::watch() {
  std::size_t further = 1;
  std::unique_lock lock(mutex_);
  while (!ending_) {
    watch_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    const std::uint64_t begun = begun_;
    watch_.wait_for(lock, limits_.stall, [&] { return ending_; });
    if (ending_) return;
    if (begun_ != begun || queue_.empty()) {
      further = 1;
      continue;
    }
    const std::size_t room = limits_.most - threads_.size();
    for (std::size_t left = std::min({further, room, queue_.size()}); left > 0; --left) {
      start_thread();
    }
    further = std::min(2 * further, limits_.most);
    auto overdue = take_overdue();
    lock.unlock();
    for (const Work& work : overdue) work.refuse();
    overdue.clear();  // with all that they own, before the lock is taken again
    lock.lock();
  }
}

std::vector<ActorPool::Work> ActorPool::take_overdue() {
  std::vector<Work> overdue;
  const auto since = Clock::now() - limits_.longest_wait;
  while (!queue_.empty() && queue_.front().since < since) {
    overdue.push_back(std::move(queue_.front().work));
    queue_.pop_front();
  }
  return overdue;
}

}  // namespace sidecall::worker
