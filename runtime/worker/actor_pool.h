// Threads for calls that may sleep, so that they never hold back the next call of the sandbox.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "emulators/emulator.h"
#include "kernel/actor.h"
#include "kernel/thread_cache.h"

namespace sidecall::worker {

// What a thread of the pool acts with.
struct Acting {
  std::unique_ptr<kernel::Actor> actor;
  std::unique_ptr<emulators::Helper> helper;  // null where the policy needs none
  emulators::Helper* launcher = nullptr;      // outlives it; null likewise
  std::unique_ptr<kernel::ThreadCache> threads = std::make_unique<kernel::ThreadCache>();
};

// Threads are started when all are busy, up to `most`; what comes then waits its turn. They stay,
// and who has worked last is asked first: one caller's calls find the thread that knows it.
//
// One mutex guards all; no call is made under it.
class ActorPool {
 public:
  using Work = std::function<void(const Acting&)>;
  using ActorFactory = std::function<Result<Acting>()>;

  // `factory` runs on each new thread. Its first failure ends the process: a thread that cannot act
  // as a caller must not serve one.
  ActorPool(std::size_t most, ActorFactory factory);
  ~ActorPool();  // finishes what is queued
  ActorPool(const ActorPool&) = delete;
  ActorPool& operator=(const ActorPool&) = delete;

  void submit(Work work);

 private:
  // Of one thread, for as long as the pool lasts.
  struct Bell {
    std::condition_variable rung;
    bool has_rung = false;
  };
  void run(Bell& bell);
  // Waits until there is work or an end: whether there is work.
  [[nodiscard]] bool wait_for_work(std::unique_lock<std::mutex>& lock, Bell& bell);

  const std::size_t most_;
  const ActorFactory factory_;
  std::mutex mutex_;
  std::deque<Work> queue_;
  std::vector<std::unique_ptr<Bell>> bells_;
  std::vector<Bell*> idle_;  // whose threads wait; the last has worked last
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace sidecall::worker
