// Which mounts were made for a sandbox.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sidecall::emulators {

// Ids are kernel::CallerFiles::mount_id()'s, which the kernel never uses again. They lie in memory
// of somebody else's, which may outlive the process. May be used from any thread. Bounded: what a
// hostile sandbox mounts beyond it is not remembered.
class MountLedger {
 public:
  using Place = std::atomic<std::uint64_t>;
  static constexpr std::size_t kMost = 4096;
  static constexpr std::uint64_t kUnknown = 0;  // no mount's id, and never remembered

  // kUnknown in what is free. Without places nothing is remembered.
  explicit MountLedger(std::span<Place> places = {}) : places_(places) {}

  void remember(std::uint64_t id) { replace(kUnknown, id); }
  void forget(std::uint64_t id) { replace(id, kUnknown); }
  [[nodiscard]] bool has(std::uint64_t id) const {
    return id != kUnknown &&
           std::any_of(places_.begin(), places_.end(), [&](const Place& at) { return at == id; });
  }

 private:
  // The first that there is.
  void replace(std::uint64_t old, std::uint64_t id) {
    for (Place& place : places_) {
      std::uint64_t expected = old;
      if (place == old && place.compare_exchange_strong(expected, id)) return;
    }
  }

  std::span<Place> places_;
};

}  // namespace sidecall::emulators
