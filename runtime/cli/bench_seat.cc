#include "cli/bench_seat.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "placement/cgroup.h"

namespace sidecall::cli {
namespace {

constexpr int kTries = 50;

// In v2 a group may hold processes or hand controllers on, not both, so that ours is below the
// root, which may do both; whether its children have the cpu controller is up to the host.
std::string parent_of(const placement::CgroupDirectory& ours) {
  if (ours.version == placement::CgroupVersion::kV1) return ours.path;
  const auto controllers = read_file(ours.mount + "/cgroup.subtree_control");
  const bool has_cpu = controllers && (" " + *controllers + " ").find(" cpu ") != std::string::npos;
  return has_cpu ? ours.mount : "";
}

}  // namespace

BenchCgroup BenchCgroup::make(const std::string& name) {
  BenchCgroup group;
  const auto ours = placement::find_cgroup(::getpid(), "cpu");
  if (!ours || !*ours) return group;
  const std::string parent = parent_of(**ours);
  if (parent.empty()) return group;
  const std::string path = parent + "/" + name;
  if (::mkdir(path.c_str(), 0755) == 0) group.path_ = path;
  return group;
}

BenchCgroup::~BenchCgroup() {
  // What has just been killed may still be counted in it.
  for (int tries = 0; !path_.empty() && tries < kTries; ++tries) {
    if (::rmdir(path_.c_str()) == 0 || errno != EBUSY) return;
    ::usleep(2000);
  }
}

}  // namespace sidecall::cli
