// Starting a program of ours.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "placement/cpu_set.h"

namespace sidecall::placement {

inline constexpr int kFirstSpawnedFd = 3;

struct Spawned {
  pid_t pid = -1;
  UniqueFd pidfd;
};

// The program at `path` with `argument` as its one argument and `fds` as its descriptors 3, 4, …,
// beside which it has nothing but /dev/null and our standard error. In a process group of its own,
// on `cpus` (empty: where we are), with no environment and no signal blocked. What cannot be
// executed ends with status 127.
[[nodiscard]] Result<Spawned> spawn(const std::string& path, const std::string& argument,
                                    std::span<const int> fds, const CpuSet& cpus);

// The process's number here, 0 once it has been reaped. An error where it is no pidfd.
[[nodiscard]] Result<pid_t> pid_of(int pidfd);

}  // namespace sidecall::placement
