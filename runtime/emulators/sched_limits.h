// How far a policy lets threads of a sandbox be raised.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "emulators/options.h"
#include "kernel/host_schedule.h"

namespace sidecall::emulators {

struct SchedLimits {
  bool fifo = false;
  bool round_robin = false;
  std::int64_t most_priority = 0;  // of the real-time policies
  std::int64_t least_nice = 0;
  bool realtime_io = false;

  // From options "policies", "max_priority", "min_nice" and "realtime_io". The error names what is
  // wrong and why.
  [[nodiscard]] static Result<SchedLimits> parse(const Options& options);

  // `current` is what the thread has: to stay where it is, or to go lower, it always may.
  [[nodiscard]] bool allow(const kernel::Schedule& wanted, const kernel::Schedule& current) const;
  [[nodiscard]] bool allow_nice(int nice) const { return nice >= least_nice; }
  // As ioprio_set(2) takes it: class and level.
  [[nodiscard]] bool allow_io(int priority) const;
};

}  // namespace sidecall::emulators
