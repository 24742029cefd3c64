// Whether the node is being drained.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "base/result.h"

namespace sidecall::agent {

// Set by gRPC's threads, read by the loop's. A file in the run directory remembers it for the next
// agent.
class DrainSwitch {
 public:
  // `mark` is the path of that file: the switch is on where it is there.
  explicit DrainSwitch(std::string mark);

  [[nodiscard]] bool is_on() const { return on_; }
  // After an error it is as it was.
  [[nodiscard]] Result<void> set(bool on);

 private:
  const std::string mark_;
  std::mutex mutex_;  // one set() at a time
  std::atomic<bool> on_;
};

}  // namespace sidecall::agent
