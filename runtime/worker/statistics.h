// What outlives a worker: its sandbox's counters, the journal of its calls in flight, the mounts
// that were made for it and the events that nobody has read yet, in memory shared between the
// worker (writes) and the agent (reads counters and events, hands it to a successor).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "emulators/mount_ledger.h"
#include "emulators/program.h"
#include "emulators/verdict.h"
#include "worker/event_ring.h"
#include "worker/journal.h"

namespace sidecall::worker {

// Nanoseconds from a call's receipt to its answer. Buckets: eight to an octave, so that a
// percentile is exact to an eighth.
class LatencyHistogram {
 public:
  static constexpr std::size_t kBuckets = std::size_t{34} * 8;
  void record(std::uint64_t nanoseconds) {
    buckets_[bucket(nanoseconds)].fetch_add(1, std::memory_order_relaxed);
  }
  // Upper edge of the bucket that holds the `fraction` quantile (0.5, 0.99), in ns; 0 when empty.
  [[nodiscard]] std::uint64_t quantile(double fraction) const;
  [[nodiscard]] std::uint64_t count(std::size_t bucket) const {
    return buckets_[bucket].load(std::memory_order_relaxed);
  }

  [[nodiscard]] static std::size_t bucket(std::uint64_t nanoseconds);
  [[nodiscard]] static std::uint64_t upper_edge(std::size_t bucket);

 private:
  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
};

struct RouteStatistics {
  std::uint32_t abi = 0;  // kernel::Abi
  std::int32_t nr = 0;
  std::array<char, 40> name{};  // NUL-terminated
  // What each call counts is on one line of the cache, which the CPUs that serve may contend for.
  alignas(64) std::atomic<std::uint64_t> calls{0};
  std::array<std::atomic<std::uint64_t>, emulators::kVerdictKinds> verdicts{};
  std::atomic<std::uint64_t> failures{0};  // infrastructure failures, answered with EIO
  LatencyHistogram latency;
};

enum class SyncState : std::uint32_t { kUnknown, kOn, kOff, kUnavailable };

struct StatisticsHeader {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t routes = 0;
  std::atomic<std::uint32_t> journal_used{0};  // Journal's own
  std::atomic<SyncState> sync{SyncState::kUnknown};
  std::atomic<std::uint32_t> listeners{0};  // being served now
  std::atomic<std::uint32_t> restarts{0};   // the agent's: workers that were replaced
  std::atomic<std::uint64_t> stale{0};      // the caller was gone before its answer
  std::atomic<std::uint64_t> unrouted{0};   // notified, but not in the program
  std::atomic<std::uint64_t> poisonous{0};  // given up because they killed workers
  std::atomic<std::uint64_t> refused{0};    // beyond the policy's limits: answered with EAGAIN
  // The agent's: of which verdicts calls are to be told as events, (1 << VerdictKind) each.
  std::atomic<std::uint32_t> watched{0};
  // Of calls that plugins serve: that took too long, that were at a plugin when it went, and
  // answers to calls that nobody waits in.
  std::atomic<std::uint64_t> remote_late{0};
  std::atomic<std::uint64_t> remote_lost{0};
  std::atomic<std::uint64_t> remote_unknown{0};
};

// A mapping of the shared memory. The agent creates it; the worker maps what it is handed.
class Statistics {
 public:
  // A sealed memfd sized for the program's routes, and its mapping.
  [[nodiscard]] static Result<Statistics> create(const emulators::Program& program);
  [[nodiscard]] static Result<Statistics> map(UniqueFd memory);
  Statistics(Statistics&&) noexcept;
  Statistics& operator=(Statistics&&) noexcept;
  ~Statistics();

  [[nodiscard]] int fd() const { return memory_.get(); }
  [[nodiscard]] StatisticsHeader& header() const { return *header_; }
  [[nodiscard]] std::span<RouteStatistics> routes() const { return routes_; }
  [[nodiscard]] std::span<emulators::MountLedger::Place> mounts() const { return mounts_; }
  [[nodiscard]] EventRing events() const { return {events_, *event_state_}; }
  [[nodiscard]] Journal journal() const { return {journal_, header_->journal_used}; }

 private:
  Statistics() = default;
  [[nodiscard]] Result<void> map_memory(std::size_t bytes);
  void find_zeroed_parts(std::size_t routes);
  UniqueFd memory_;
  std::byte* base_ = nullptr;  // the mapping, ours to unmap
  std::size_t bytes_ = 0;
  StatisticsHeader* header_ = nullptr;               // into the mapping
  std::span<RouteStatistics> routes_;                // into the mapping
  std::span<JournalSlot> journal_;                   // into the mapping
  std::span<emulators::MountLedger::Place> mounts_;  // into the mapping
  EventRingState* event_state_ = nullptr;            // into the mapping
  std::span<EventSlot> events_;                      // into the mapping
};

}  // namespace sidecall::worker
