#include "agent/figures.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernel/abi.h"

namespace sidecall::agent {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

using worker::LatencyHistogram;

// What lies below 2^k ns is counted below that edge, a call of exactly 2^k ns above it.
std::size_t coarse_bucket(std::size_t bucket) {
  const auto width = static_cast<std::size_t>(std::bit_width(LatencyHistogram::upper_edge(bucket)));
  constexpr std::size_t kFirst = CallFigures::kFirstEdge;
  return std::clamp(width, kFirst, kFirst + CallFigures::kEdges) - kFirst;
}

std::uint64_t middle_of(std::size_t bucket) {
  const std::uint64_t below = bucket == 0 ? 0 : LatencyHistogram::upper_edge(bucket - 1) + 1;
  return below + (LatencyHistogram::upper_edge(bucket) - below) / 2;
}

void add_latencies(const LatencyHistogram& latency, std::uint64_t times, CallFigures& sum) {
  for (std::size_t bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
    const std::uint64_t count = latency.count(bucket);
    if (count == 0) continue;
    sum.latencies.at(coarse_bucket(bucket)) += times * count;
    sum.latency_sum_ns += times * count * middle_of(bucket);
  }
}

}  // namespace

void Figures::add(const worker::Statistics& statistics, std::uint64_t times) {
  for (const worker::RouteStatistics& route : statistics.routes()) {
    const std::string name(route.name.data(), ::strnlen(route.name.data(), route.name.size()));
    CallFigures& sum =
        calls[{name, std::string(kernel::abi_name(static_cast<kernel::Abi>(route.abi)))}];
    for (std::size_t kind = 0; kind < sum.verdicts.size(); ++kind) {
      sum.verdicts[kind] += times * route.verdicts[kind].load(kRelaxed);
    }
    sum.failures += times * route.failures.load(kRelaxed);
    add_latencies(route.latency, times, sum);
  }
  const worker::StatisticsHeader& header = statistics.header();
  stale += times * header.stale.load(kRelaxed);
  unrouted += times * header.unrouted.load(kRelaxed);
  poisonous += times * header.poisonous.load(kRelaxed);
  refused += times * header.refused.load(kRelaxed);
  remote_late += times * header.remote_late.load(kRelaxed);
  remote_lost += times * header.remote_lost.load(kRelaxed);
  remote_unknown += times * header.remote_unknown.load(kRelaxed);
  restarts += times * header.restarts.load(kRelaxed);
}

}  // namespace sidecall::agent
