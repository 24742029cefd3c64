// How long single calls took: a histogram that several processes write to at once.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sidecall::cli {

// Lies in shared memory. Buckets are at most 1/32 of their value wide, up to half an hour.
class Latencies {
 public:
  void add(std::uint64_t nanoseconds) {
    counts_[bucket_of(nanoseconds)].fetch_add(1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const auto& count : counts_) sum += count.load(std::memory_order_relaxed);
    return sum;
  }

  // The least latency, in nanoseconds, that at least `share` (0..1) of the calls did not exceed, as
  // the lower end of its bucket; 0 where there is no call.
  [[nodiscard]] std::uint64_t percentile(double share) const {
    const double wanted = share * static_cast<double>(total());
    std::uint64_t seen = 0;
    std::size_t last = 0;
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      const auto count = counts_[bucket].load(std::memory_order_relaxed);
      if (count == 0) continue;
      seen += count;
      last = bucket;
      if (static_cast<double>(seen) >= wanted) break;
    }
    return floor_of(last);
  }

 private:
  static constexpr unsigned kSubBits = 5;
  static constexpr std::size_t kSub = 1U << kSubBits;
  static constexpr std::size_t kBuckets = 37 * kSub;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < kSub) return value;
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kSubBits - 1;
    const std::size_t bucket = (shift + 1) * kSub + (value >> shift) % kSub;
    return bucket < kBuckets ? bucket : kBuckets - 1;
  }
  static std::uint64_t floor_of(std::size_t bucket) {
    if (bucket < kSub) return bucket;
    return (kSub + bucket % kSub) << (bucket / kSub - 1);
  }

  std::array<std::atomic<std::uint64_t>, kBuckets> counts_{};
};

}  // namespace sidecall::cli
