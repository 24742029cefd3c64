#include "kernel/limited_cgroups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "placement/cgroup.h"

namespace sidecall::testing {
namespace {

using placement::CgroupVersion;

Result<void> write_file(const std::string& path, const std::string& text) {
  const auto file = open_file(path, O_WRONLY);
  if (!file) return tl::unexpected<Error>(file.error());
  auto written = write_fd(file->get(), text);
  if (!written) return pass_on(std::move(written), path);
  return {};
}

}  // namespace

Result<LimitedCgroups> LimitedCgroups::make(pid_t pid, std::uint64_t memory_limit) {
  LimitedCgroups made;
  auto memory = made.add(pid, "memory");
  if (!memory) return pass_on(std::move(memory));
  auto limited = write_file(*memory, std::to_string(memory_limit));
  if (!limited) return pass_on(std::move(limited));
  auto pids = made.add(pid, "pids");
  if (!pids) return pass_on(std::move(pids));
  return made;
}

// Gives the path of the file that limits memory.
Result<std::string> LimitedCgroups::add(pid_t pid, const std::string& controller) {
  auto found = placement::find_cgroup(pid, controller);
  if (!found) return pass_on(std::move(found));
  if (!*found) return failure("no cgroup hierarchy with " + controller + " is mounted here");
  const auto& [version, path, mount] = **found;
  const std::string directory = mount + "/sidecall-test-" + std::to_string(::getpid());
  // With v2, and with v1 controllers that are mounted together, it is in the first one already.
  const bool is_new =
      std::find(directories_.begin(), directories_.end(), path) == directories_.end();
  if (is_new) {
    if (version == CgroupVersion::kV2) {
      auto enabled = write_file(mount + "/cgroup.subtree_control", "+memory +pids");
      if (!enabled) return pass_on(std::move(enabled));
    }
    if (::mkdir(directory.c_str(), 0755) != 0) return errno_failure("making " + directory);
    directories_.push_back(directory);
    auto moved = write_file(directory + "/cgroup.procs", std::to_string(pid));
    if (!moved) return pass_on(std::move(moved));
  }
  return directory + (version == CgroupVersion::kV1 ? "/memory.limit_in_bytes" : "/memory.max");
}

LimitedCgroups::~LimitedCgroups() {
  // A process that has just ended may still be counted.
  constexpr int kMostTries = 1000;
  for (const std::string& directory : directories_) {
    for (int tries = 0; ::rmdir(directory.c_str()) != 0 && errno == EBUSY; ++tries) {
      if (tries == kMostTries) break;
      ::usleep(1000);
    }
  }
}

}  // namespace sidecall::testing
