// Threads for calls that may sleep, so that they never hold back the next call of the sandbox.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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

struct PoolLimits {
  std::size_t usual = 16;    // threads that are started as soon as all others are busy
  std::size_t most = 64;     // with those that come because all others are held up; >= usual
  std::size_t works = 1000;  // under way and waiting
  std::chrono::milliseconds stall{100};  // without a work begun: the threads are held up
  std::chrono::milliseconds longest_wait{10'000};
};

// Threads are started when all are busy, up to the usual number; what comes then waits its turn.
// They stay, and who has worked last is asked first: one caller's calls find the thread that knows
// it. A work may be held up for as long as a filesystem of the sandbox's own likes: where that
// befalls all threads, further ones come, twice as many each time, and at the most what has waited
// too long is refused.
//
// One mutex guards all; no call is made under it.
class ActorPool {
 public:
  struct Work {
    std::function<void(const Acting&)> serve;
    std::function<void()> refuse;  // called instead, on another thread
  };
  using ActorFactory = std::function<Result<Acting>()>;

  // `factory` runs on each new thread. Its first failure ends the process: a thread that cannot act
  // as a caller must not serve one.
  ActorPool(PoolLimits limits, ActorFactory factory);
  ~ActorPool();  // finishes what is queued
  ActorPool(const ActorPool&) = delete;
  ActorPool& operator=(const ActorPool&) = delete;

  // False where there are too many already: the work is then the caller's to refuse.
  [[nodiscard]] bool submit(Work work);

 private:
  using Clock = std::chrono::steady_clock;
  // Of one thread, for as long as the pool lasts.
  struct Bell {
    std::condition_variable rung;
    bool has_rung = false;
  };
  struct Queued {
    Work work;
    Clock::time_point since;
  };
  void start_thread();
  void run(Bell& bell);
  // Waits until there is work or an end: whether there is work.
  [[nodiscard]] bool wait_for_work(std::unique_lock<std::mutex>& lock, Bell& bell);
  // The thread that looks after the others while works wait.
  void watch();
  [[nodiscard]] std::vector<Work> take_overdue();

  const PoolLimits limits_;
  const ActorFactory factory_;
  std::mutex mutex_;
  std::deque<Queued> queue_;
  std::size_t under_way_ = 0;
  std::uint64_t begun_ = 0;
  std::vector<std::unique_ptr<Bell>> bells_;
  std::vector<Bell*> idle_;  // whose threads wait; the last has worked last
  bool ending_ = false;
  std::condition_variable watch_;
  std::vector<std::jthread> threads_;
  std::optional<std::jthread> watcher_;  // from the first work on that had to wait
};

}  // namespace sidecall::worker
