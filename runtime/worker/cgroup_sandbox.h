// What the worker keeps of its sandbox: resource figures, from its cgroups, its mounts and its
// first process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "emulators/sandbox.h"

namespace sidecall::worker {

// Looks for the cgroups once, keeps their files open and reads them at most every 100 ms.
class CgroupSandbox final : public emulators::Sandbox {
 public:
  // Before it is bound it knows no limits.
  explicit CgroupSandbox(emulators::MountLedger mounts = emulators::MountLedger())
      : mounts_(mounts) {}
  // To `first_pid`, which must not be gone, and its cgroups. Before there are other threads; a
  // second call changes nothing.
  [[nodiscard]] Result<void> bind(pid_t first_pid);

  void set_own_user_namespace(bool own) { own_user_namespace_ = own; }

  [[nodiscard]] Result<emulators::Resources> resources() const override;
  [[nodiscard]] bool has_own_user_namespace() const override { return own_user_namespace_; }
  [[nodiscard]] emulators::MountLedger& mounts() const override { return mounts_; }
  [[nodiscard]] SysResult<void> stop() const override;

 private:
  struct Reading {
    emulators::Resources resources;
    std::chrono::nanoseconds at;  // CLOCK_MONOTONIC_COARSE
  };
  [[nodiscard]] emulators::Resources read_all() const;

  bool own_user_namespace_ = false;
  mutable emulators::MountLedger mounts_;

  UniqueFd first_process_;  // a pidfd

  std::vector<UniqueFd> memory_limits_;  // innermost first: the smallest applies
  std::vector<UniqueFd> swap_limits_;
  UniqueFd memory_used_;
  UniqueFd swap_used_;
  UniqueFd processes_;
  bool swap_includes_memory_ = false;  // v1's memsw files
  bool bound_ = false;
  std::uint64_t started_ticks_ = 0;  // of the first process, since boot
  // Read by every thread, and replaced by whichever finds it old.
  mutable std::atomic<std::shared_ptr<const Reading>> last_;
};

// The 22nd field of /proc/PID/stat: proc(5). Comm may hold anything, parentheses and spaces
// included.
[[nodiscard]] Result<std::uint64_t> parse_start_ticks(std::string_view stat);

}  // namespace sidecall::worker
