// The CPUs of a sandbox, and keeping a worker on them.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "placement/cpu_set.h"

namespace sidecall::placement {

// The CPUs that the sandbox may use now: cpuset.cpus.effective (cgroup v2) or
// cpuset.effective_cpus (v1) of the cgroup of `pid`, or of the nearest ancestor that has the file,
// cut to the affinity of the task itself; where there is no cpuset, that affinity alone.
[[nodiscard]] Result<CpuSet> sandbox_cpus(pid_t pid);

// Puts every thread of process `pid`, and of its children, on `cpus`. Threads that start meanwhile
// inherit it. CPUs that the process's own cpuset excludes are dropped by the kernel; none left over
// is an error.
[[nodiscard]] Result<void> place_process(pid_t pid, const CpuSet& cpus);

}  // namespace sidecall::placement
