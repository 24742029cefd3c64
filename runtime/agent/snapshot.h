// What gRPC threads see of the sandboxes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/figures.h"
#include "worker/statistics.h"

namespace sidecall::agent {

enum class SandboxState : std::uint8_t { kExpected, kServing, kEnding };

// One sandbox at one moment; immutable once published. Its figures move on: they are the worker's
// own shared memory, which this keeps mapped.
struct SandboxView {
  std::string id;
  SandboxState state{};
  std::string bundle;
  std::string policy;
  pid_t pid = 0;
  pid_t worker_pid = 0;  // 0 while there is none
  std::string cpus;
  std::uint32_t listeners = 0;
  std::chrono::system_clock::time_point since;
  std::uint32_t worker_restarts = 0;
  std::map<std::string, std::string> annotations;
  std::shared_ptr<const worker::Statistics> statistics;  // null while there is no worker
};

struct Snapshot {
  std::vector<std::shared_ptr<const SandboxView>> sandboxes{};  // oldest first
  // What is to be added to the figures of these for all that was counted since the agent's start:
  // those of sandboxes that have ended, less what an agent before this one had seen.
  std::shared_ptr<const Figures> past = std::make_shared<const Figures>();
};

// The one thing that the event loop and the gRPC threads share. A snapshot rather than requests to
// the loop: a reader then never waits for the loop, and however many ask, the loop serves
// containers at its own pace. The lock is held for the copying of one pointer.
class SnapshotBoard {
 public:
  void publish(Snapshot snapshot) {
    auto fresh = std::make_shared<const Snapshot>(std::move(snapshot));
    const std::lock_guard lock(mutex_);
    current_.swap(fresh);
  }
  [[nodiscard]] std::shared_ptr<const Snapshot> read() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> current_ = std::make_shared<const Snapshot>();
};

}  // namespace sidecall::agent
