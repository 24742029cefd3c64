// How long to wait before a worker is started again.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

namespace sidecall::agent {

// A worker that dies now and then is replaced at once. One that dies over and over (more than
// `free` times within ten seconds) is replaced after a delay that doubles up to five seconds, so
// that a broken sandbox does not take the CPUs of the others.
class Backoff {
 public:
  using Clock = std::chrono::steady_clock;

  // A worker that fails by itself will fail again; one that somebody kills has done nothing.
  static constexpr std::size_t kFreeFailures = 5;
  static constexpr std::size_t kFreeKills = 500;

  explicit Backoff(std::size_t free) : free_(free) {}

  // Counts a death at `now`, which never goes back, and gives the delay that it calls for.
  [[nodiscard]] std::chrono::milliseconds after_death(Clock::time_point now);

 private:
  std::size_t free_;
  std::deque<Clock::time_point> recent_;
  std::chrono::milliseconds delay_{0};
};

}  // namespace sidecall::agent
