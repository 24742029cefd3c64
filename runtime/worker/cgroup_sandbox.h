// The sandbox's resource figures, from its cgroups.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "emulators/sandbox.h"

namespace sidecall::worker {

// Looks for the cgroups once, keeps their files open and reads them at most every 100 ms.
class CgroupSandbox final : public emulators::Sandbox {
 public:
  // Before it is bound it knows no limits.
  CgroupSandbox() = default;
  // To the cgroups of `first_pid`, which must not be gone. A second call changes nothing.
  [[nodiscard]] Result<void> bind(pid_t first_pid);

  [[nodiscard]] Result<emulators::Resources> resources() const override;

 private:
  [[nodiscard]] emulators::Resources read_all() const;

  mutable std::mutex mutex_;             // guards all below
  std::vector<UniqueFd> memory_limits_;  // innermost first: the smallest applies
  std::vector<UniqueFd> swap_limits_;
  UniqueFd memory_used_;
  UniqueFd swap_used_;
  UniqueFd processes_;
  bool swap_includes_memory_ = false;  // v1's memsw files
  bool bound_ = false;
  std::uint64_t started_ticks_ = 0;  // of the first process, since boot
  mutable std::chrono::nanoseconds read_at_{0};
  mutable emulators::Resources last_;
};

// The 22nd field of /proc/PID/stat: proc(5). Comm may hold anything, parentheses and spaces
// included.
[[nodiscard]] Result<std::uint64_t> parse_start_ticks(std::string_view stat);

}  // namespace sidecall::worker
