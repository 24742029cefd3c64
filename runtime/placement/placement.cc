#include "placement/placement.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>

#include <charconv>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>

#include "base/file.h"
#include "placement/cgroup.h"

namespace sidecall::placement {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// The cpuset's own word, from the innermost directory that has one: in cgroup v2 only those have
// the file whose parents have the controller switched on.
Result<CpuSet> cpuset_of(const CgroupDirectory& directory) {
  const std::string name =
      directory.version == CgroupVersion::kV2 ? "/cpuset.cpus.effective" : "/cpuset.effective_cpus";
  for (const std::string& level : directory.levels()) {
    if (const auto text = read_file(level + name)) return CpuSet::parse(*text);
  }
  return CpuSet();
}

Result<std::set<pid_t>> threads_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/task";
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
  if (!directory) return errno_failure("opening " + path);
  std::set<pid_t> threads;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    pid_t tid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), tid).ec == std::errc()) {
      threads.insert(tid);
    }
  }
  return threads;
}

// Of its first thread, which forks a worker's helper before there is another.
std::set<pid_t> children_of(pid_t pid) {
  const std::string id = std::to_string(pid);
  std::set<pid_t> children;
  const auto text = read_file("/proc/" + id + "/task/" + id + "/children");
  if (!text) return children;  // a kernel without CONFIG_PROC_CHILDREN
  std::istringstream words(*text);
  for (pid_t child = 0; words >> child;) children.insert(child);
  return children;
}

Result<void> join_cgroup(const std::string& directory, pid_t pid) {
  const auto file = open_file(directory + "/cgroup.procs", O_WRONLY);
  if (!file) return tl::unexpected<Error>(file.error());
  auto written = write_fd(file->get(), std::to_string(pid));
  // It may have ended meanwhile.
  if (!written && errno == ESRCH) return {};
  return written;
}

}  // namespace

Result<CpuSet> sandbox_cpus(pid_t pid) {
  cpu_set_t mask;
  if (::sched_getaffinity(pid, sizeof mask, &mask) != 0) {
    return errno_failure("reading the affinity of process " + std::to_string(pid));
  }
  const CpuSet affinity(mask);
  const auto directory = find_cgroup(pid, "cpuset");
  if (!directory) return tl::unexpected<Error>(directory.error());
  if (!*directory) return affinity;
  const auto cpuset = cpuset_of(**directory);
  if (!cpuset) return tl::unexpected<Error>(cpuset.error());
  const CpuSet both = cpuset->intersection(affinity);
  return both.empty() ? affinity : both;
}

Result<void> place_process(pid_t pid, const CpuSet& cpus) {
  // Again until nothing is new: a thread may have been started by one that was not placed yet.
  std::set<pid_t> placed;
  for (;;) {
    auto threads = threads_of(pid);
    if (!threads) return pass_on(std::move(threads));
    for (const pid_t child : children_of(pid)) {
      // It may have ended meanwhile.
      if (auto more = threads_of(child)) threads->merge(*more);
    }
    bool found_more = false;
    for (const pid_t tid : *threads) {
      if (!placed.insert(tid).second) continue;
      found_more = true;
      if (::sched_setaffinity(tid, sizeof(cpu_set_t), &cpus.mask()) != 0 && errno != ESRCH) {
        return errno_failure("placing thread " + std::to_string(tid) + " on CPUs " + cpus.list());
      }
    }
    if (!found_more) return {};
  }
}

CpuSet own_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  static_cast<void>(::sched_getaffinity(0, sizeof mask, &mask));
  return CpuSet(mask);
}

bool place_self(const CpuSet& cpus) {
  return ::sched_setaffinity(0, sizeof(cpu_set_t), &cpus.mask()) == 0;
}

Result<Seat> sandbox_seat(pid_t pid, Charge charge, bool busy) {
  auto cpus = sandbox_cpus(pid);
  if (!cpus) return tl::unexpected<Error>(cpus.error());
  Seat seat{.cpus = *cpus};
  if (charge == Charge::kAgent || (charge == Charge::kAuto && !busy)) return seat;
  const auto directory = find_cgroup(pid, "cpu");
  if (!directory) return tl::unexpected<Error>(directory.error());
  if (!*directory) return seat;
  const bool is_for_all_controllers = (*directory)->version == CgroupVersion::kV2;
  if (!is_for_all_controllers || charge == Charge::kSandbox) seat.cpu_cgroup = (*directory)->path;
  return seat;
}

Result<void> take_seat(pid_t pid, const Seat& seat, const std::string& home) {
  if (auto placed = place_process(pid, seat.cpus); !placed) return placed;
  const std::string& cgroup = seat.cpu_cgroup.empty() ? home : seat.cpu_cgroup;
  if (cgroup.empty()) return {};
  auto processes = children_of(pid);
  processes.insert(pid);
  for (const pid_t process : processes) {
    if (auto joined = join_cgroup(cgroup, process); !joined) return joined;
  }
  return {};
}

}  // namespace sidecall::placement
