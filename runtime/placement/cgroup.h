// Where a process's cgroups are, on hosts with cgroup v2, v1 and both.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sidecall::placement {

enum class CgroupVersion : std::uint8_t { kV1, kV2 };

// A directory below a cgroup mount.
struct CgroupDirectory {
  CgroupVersion version{};
  std::string path;   // "/sys/fs/cgroup/memory/x/y"
  std::string mount;  // "/sys/fs/cgroup/memory"

  // `path` and every directory above it up to `mount`, innermost first: a limit of any applies.
  [[nodiscard]] std::vector<std::string> levels() const;
};

// The directory that holds `controller` ("cpuset", "memory", "pids") for the process; empty where
// no hierarchy with it is mounted here. Reads /proc/PID/cgroup and our own mounts.
[[nodiscard]] Result<std::optional<CgroupDirectory>> find_cgroup(pid_t pid,
                                                                 std::string_view controller);

// The same on the texts of /proc/PID/cgroup and /proc/self/mountinfo: cgroups(7), proc(5).
[[nodiscard]] std::optional<CgroupDirectory> find_cgroup_in(std::string_view cgroup_text,
                                                            std::string_view mountinfo_text,
                                                            std::string_view controller);

}  // namespace sidecall::placement
