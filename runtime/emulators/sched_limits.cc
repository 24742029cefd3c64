#include "emulators/sched_limits.h"

#include <sched.h>

#include <string>
#include <vector>

namespace sidecall::emulators {
namespace {

constexpr std::int64_t kHighestPriority = 99;
constexpr std::int64_t kLowestNice = -20;
constexpr std::int64_t kHighestNice = 19;

// linux/ioprio.h, which Debian 12 has not.
constexpr unsigned kIoClassShift = 13;
constexpr unsigned kIoClassRealtime = 1;
constexpr unsigned kIoClassIdle = 3;

}  // namespace

Result<SchedLimits> SchedLimits::parse(const Options& options) {
  SchedLimits limits;
  for (const auto& name : option_or(options, "policies", std::vector<std::string>{})) {
    if (name == "fifo") {
      limits.fifo = true;
    } else if (name == "rr") {
      limits.round_robin = true;
    } else {
      return failure("policies: \"" + name + "\" is neither \"fifo\" nor \"rr\"");
    }
  }
  const bool real_time = limits.fifo || limits.round_robin;
  limits.most_priority = option_or(options, "max_priority", std::int64_t{real_time ? 1 : 0});
  if (limits.most_priority < (real_time ? 1 : 0) || limits.most_priority > kHighestPriority) {
    return failure("max_priority: must be 1 to 99");
  }
  if (!real_time && limits.most_priority != 0) {
    return failure("max_priority: is of use with \"policies\" only");
  }
  limits.least_nice = option_or(options, "min_nice", std::int64_t{0});
  if (limits.least_nice < kLowestNice || limits.least_nice > kHighestNice) {
    return failure("min_nice: must be -20 to 19");
  }
  limits.realtime_io = option_or(options, "realtime_io", false);
  return limits;
}

bool SchedLimits::allow(const kernel::Schedule& wanted, const kernel::Schedule& current) const {
  switch (wanted.policy) {
    case SCHED_FIFO:
      return fifo && wanted.priority <= most_priority;
    case SCHED_RR:
      return round_robin && wanted.priority <= most_priority;
    case SCHED_OTHER:
    case SCHED_BATCH:
      return allow_nice(wanted.nice) || wanted.nice >= current.nice;
    case SCHED_IDLE:
      return true;
    default:
      return false;
  }
}

bool SchedLimits::allow_io(int priority) const {
  const unsigned io_class = static_cast<unsigned>(priority) >> kIoClassShift;
  return io_class <= kIoClassIdle && (realtime_io || io_class != kIoClassRealtime);
}

}  // namespace sidecall::emulators
