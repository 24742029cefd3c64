// Which mounts were made for a sandbox.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>

namespace sidecall::emulators {

// Ids are kernel::CallerFiles::mount_id()'s, which the kernel never uses again. May be used from
// any thread. Bounded: what a hostile sandbox mounts beyond it is not remembered.
class MountLedger {
 public:
  static constexpr std::size_t kMost = 4096;
  static constexpr std::uint64_t kUnknown = 0;  // no mount's id, and never remembered

  void remember(std::uint64_t id) {
    if (id == kUnknown) return;
    const std::lock_guard lock(mutex_);
    if (ids_.size() < kMost) ids_.insert(id);
  }
  void forget(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    ids_.erase(id);
  }
  [[nodiscard]] bool has(std::uint64_t id) const {
    const std::lock_guard lock(mutex_);
    return ids_.contains(id);
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::uint64_t> ids_;
};

}  // namespace sidecall::emulators
