#include "agent/backoff.h"

#include <algorithm>
#include <cstdint>

namespace sidecall::agent {
namespace {

constexpr std::chrono::seconds kWindow{10};
constexpr std::chrono::milliseconds kFirstDelay{100};
constexpr std::chrono::milliseconds kLongestDelay{5000};

}  // namespace

std::chrono::milliseconds Backoff::after_death(Clock::time_point now) {
  recent_.push_back(now);
  // What the delay itself lets pass is no recovery: it is part of the window.
  while (now - recent_.front() > kWindow + delay_ * static_cast<std::int64_t>(free_))
    recent_.pop_front();
  if (recent_.size() <= free_) {
    delay_ = std::chrono::milliseconds{0};
    return delay_;
  }
  recent_.pop_front();
  delay_ = std::clamp(delay_ * 2, kFirstDelay, kLongestDelay);
  return delay_;
}

}  // namespace sidecall::agent
