#include "agent/log_limit.h"

#include <algorithm>
#include <utility>

namespace sidecall::agent {

void LogLimit::fill(Allowance& allowance, Clock::time_point now) const {
  const std::chrono::duration<double> passed = now - allowance.filled;
  allowance.left = std::min(rate_.at_once, allowance.left + passed.count() * rate_.a_second);
  allowance.filled = now;
}

void LogLimit::make_room(Clock::time_point now) {
  if (allowances_.size() < kMostKeys) return;
  for (auto& [_, allowance] : allowances_) fill(allowance, now);
  std::erase_if(allowances_, [&](const auto& entry) { return entry.second.left >= rate_.at_once; });
}

LogLimit::Verdict LogLimit::take(const std::string& key, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  make_room(now);
  const auto [found, _] = allowances_.try_emplace(key, Allowance{rate_.at_once, now, 0});
  Allowance& allowance = found->second;
  fill(allowance, now);
  if (allowance.left < 1) {
    ++allowance.left_out;
    return {};
  }
  allowance.left -= 1;
  return {.passes = true, .left_out = std::exchange(allowance.left_out, 0)};
}

}  // namespace sidecall::agent
