// What Prometheus is told.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "agent/drain_switch.h"
#include "agent/snapshot.h"

namespace sidecall::agent {

// Read at each scrape from the board and the workers' memory, and kept nowhere. Series are those of
// the node, by system call and verdict: as many as the policies name, however many sandboxes there
// are. Counters count from this agent's start.
class Metrics final : public prometheus::Collectable {
 public:
  struct Options {
    std::string version{};
    // Counts by sandbox as well: a series for each sandbox, system call and verdict that occurred.
    bool by_sandbox = false;
  };

  // Both must outlive it.
  Metrics(const SnapshotBoard& board, const DrainSwitch& drain, Options options)
      : board_(board), drain_(drain), options_(std::move(options)) {}

  // Called on threads of the server.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const SnapshotBoard& board_;
  const DrainSwitch& drain_;
  const Options options_;
};

}  // namespace sidecall::agent
