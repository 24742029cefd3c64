// Counters of many workers, added up.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "emulators/verdict.h"
#include "worker/statistics.h"

namespace sidecall::agent {

// Of one system call on one ABI.
struct CallFigures {
  // Upper edges of the latency buckets: 2^kFirstEdge ns (about 1 µs), each twice the last, and one
  // bucket for what takes longer (than 8.6 s).
  static constexpr unsigned kFirstEdge = 10;
  static constexpr std::size_t kEdges = 24;

  std::array<std::uint64_t, emulators::kVerdictKinds> verdicts{};
  std::uint64_t failures = 0;
  std::array<std::uint64_t, kEdges + 1> latencies{};
  std::uint64_t latency_sum_ns = 0;  // exact to a sixteenth: a histogram knows no more
};

// What is subtracted before it is added wraps around zero and back: counters may begin anywhere.
struct Figures {
  using Call = std::pair<std::string, std::string>;  // name and ABI

  std::map<Call, CallFigures> calls;
  std::uint64_t stale = 0;
  std::uint64_t unrouted = 0;
  std::uint64_t poisonous = 0;
  std::uint64_t refused = 0;
  std::uint64_t remote_late = 0;
  std::uint64_t remote_lost = 0;
  std::uint64_t remote_unknown = 0;
  std::uint64_t restarts = 0;

  void add(const worker::Statistics& statistics) { add(statistics, 1); }
  void subtract(const worker::Statistics& statistics) { add(statistics, ~std::uint64_t{0}); }

 private:
  void add(const worker::Statistics& statistics, std::uint64_t times);
};

}  // namespace sidecall::agent
