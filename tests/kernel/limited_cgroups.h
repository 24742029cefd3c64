// Memory and pids cgroups of a test's own, with v1 and v2.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sidecall::testing {

// Owns the cgroups, which go at the end: their processes must have ended by then.
class LimitedCgroups {
 public:
  // Moves `pid` there. `memory_limit` is in bytes.
  [[nodiscard]] static Result<LimitedCgroups> make(pid_t pid, std::uint64_t memory_limit);
  LimitedCgroups(LimitedCgroups&&) = default;
  LimitedCgroups& operator=(LimitedCgroups&&) = delete;
  ~LimitedCgroups();

 private:
  LimitedCgroups() = default;
  // A cgroup with `controller`, by that hierarchy's own names, and `pid` in it.
  [[nodiscard]] Result<std::string> add(pid_t pid, const std::string& controller);
  std::vector<std::string> directories_;
};

}  // namespace sidecall::testing
