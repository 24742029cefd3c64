// Where a sandbox's worker belongs, and keeping it there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

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

// The calling thread's own affinity, read and set. Setting fails where no CPU is left over.
[[nodiscard]] CpuSet own_cpus();
bool place_self(const CpuSet& cpus);

// Whose share of CPU time a worker's is taken from. Charged to its sandbox, the worker is in the
// sandbox's own cgroup, and the scheduler changes between caller and worker without leaving the
// group: a call is then a quarter cheaper, and a sandbox that calls all the time pays for it
// itself.
enum class Charge : std::uint8_t {
  // A sandbox that calls a lot, where the cpu controller has a hierarchy of its own (cgroup v1);
  // else the agent. In cgroup v2 a process has one cgroup for everything: the worker would count
  // against the sandbox's pids and memory, be killed with it, and keep an init inside from dividing
  // its own cgroup. And no engine can remove a cgroup before the worker has left it.
  kAuto,
  kSandbox,
  kAgent,
};

struct Seat {
  CpuSet cpus;
  std::string cpu_cgroup{};  // a directory; empty: the one that the worker was started in
  friend bool operator==(const Seat&, const Seat&) = default;
};

// The seat that the sandbox of process `pid`, which calls a lot where it is `busy`, has for its
// worker now.
[[nodiscard]] Result<Seat> sandbox_seat(pid_t pid, Charge charge, bool busy);

// Moves process `pid` and its children there; into the cgroup `home`, unless that is empty, where
// the seat names none. A cgroup that does not take them is an error, with the CPUs set all the
// same.
[[nodiscard]] Result<void> take_seat(pid_t pid, const Seat& seat, const std::string& home);

}  // namespace sidecall::placement
