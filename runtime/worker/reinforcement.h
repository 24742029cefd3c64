// Threads that join a listener's first one in RECV while there is work for several CPUs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "placement/cpu_set.h"

namespace sidecall::worker {

// What came of waiting for a call; kEnd: there will be no more.
enum class Turn : std::uint8_t { kServed, kNothing, kEnd };

// Each is pinned to a CPU of its own and parked while it is not wanted. Used by the listener's
// first thread, which is pinned as well for as long as there are any.
class Reinforcement {
 public:
  // Receives and answers one call. Runs on a thread of ours, and gives up waiting at a SIGUSR1.
  using ServeOne = std::function<Turn()>;
  // Makes what a thread serves with; called on it.
  using MakeServer = std::function<ServeOne()>;

  static constexpr unsigned kMost = 7;

  explicit Reinforcement(MakeServer make_server) : make_server_(std::move(make_server)) {}
  ~Reinforcement();  // waits for the threads' end
  Reinforcement(const Reinforcement&) = delete;
  Reinforcement& operator=(const Reinforcement&) = delete;

  // How many are wanted now.
  [[nodiscard]] unsigned wanted() const { return wanted_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_on(unsigned cpu) const;
  // Sends one more to `cpu`.
  void send_to(unsigned cpu);
  // Parks them all. One that is on its way into RECV may miss that: see recall_late().
  void recall();
  // Calls back whoever is still in RECV and not wanted.
  void recall_late();
  // Calls that they have served.
  [[nodiscard]] std::uint64_t served() const;

 private:
  struct Member {
    std::atomic<std::uint64_t> served{0};
    std::atomic<unsigned> cpu{0};
    std::atomic<bool> is_out{false};  // not parked
    std::thread thread;
  };
  void run(Member& self, unsigned index);

  const MakeServer make_server_;
  std::atomic<unsigned> wanted_{0};
  std::atomic<bool> is_ending_{false};
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace sidecall::worker
