// How much one sandbox may write to the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace sidecall::agent {

// Allowances by key: so many lines at once, filled up by so many a second. May be used by any
// thread.
class LogLimit {
 public:
  using Clock = std::chrono::steady_clock;
  struct Rate {
    double at_once = 0;
    double a_second = 0;
  };
  struct Verdict {
    bool passes = false;
    std::uint64_t left_out = 0;  // lines of this key that did not pass since one did
  };

  explicit LogLimit(Rate rate) : rate_(rate) {}

  // One line more of `key` at `now`.
  [[nodiscard]] Verdict take(const std::string& key, Clock::time_point now);

 private:
  // Beyond so many keys those with a full allowance, of which nothing is to be remembered, go.
  static constexpr std::size_t kMostKeys = 1024;
  struct Allowance {
    double left = 0;
    Clock::time_point filled;
    std::uint64_t left_out = 0;
  };
  void fill(Allowance& allowance, Clock::time_point now) const;
  void make_room(Clock::time_point now);

  const Rate rate_;
  std::mutex mutex_;
  std::map<std::string, Allowance> allowances_;
};

}  // namespace sidecall::agent
