// What the emulators know of the sandbox they serve.
#pragma once

#include <sys/sysinfo.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "emulators/mount_ledger.h"

namespace sidecall::emulators {

// Resource figures of the sandbox, in bytes. What is not limited is empty.
struct Resources {
  std::optional<std::uint64_t> memory_limit;
  std::uint64_t memory_used = 0;
  std::optional<std::uint64_t> swap_limit;  // of swap alone, memory not counted
  std::uint64_t swap_used = 0;
  std::optional<std::uint64_t> processes;
  std::uint64_t uptime_seconds = 0;  // since its first process started
  // What sysinfo(2) says outside of it: a struct sysinfo, whose flexible end no class may have.
  std::array<std::byte, sizeof(struct sysinfo)> host{};
};

// The seam to what the worker keeps of the sandbox: its cgroups, its mounts. May be called from any
// thread of the worker.
class Sandbox {
 public:
  Sandbox() = default;
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  virtual ~Sandbox() = default;

  // May be up to 100 ms old, so that a call costs no walk through the cgroup tree.
  [[nodiscard]] virtual Result<Resources> resources() const = 0;
  // Whether its first process is in another user namespace than the agent.
  [[nodiscard]] virtual bool has_own_user_namespace() const = 0;
  [[nodiscard]] virtual MountLedger& mounts() const = 0;
  // SIGKILL to its first process, with which its pid namespace ends.
  [[nodiscard]] virtual SysResult<void> stop() const = 0;
};

}  // namespace sidecall::emulators
