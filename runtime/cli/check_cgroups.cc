#include <linux/magic.h>
#include <sys/vfs.h>

#include "cli/checks.h"

namespace sidecall::cli {
namespace {

// Type of the filesystem at `path`; 0 where there is none.
decltype(statfs::f_type) filesystem_of(const char* path) {
  struct statfs status {};
  return ::statfs(path, &status) == 0 ? status.f_type : 0;
}

}  // namespace

std::vector<Check> check_cgroups() {
  using enum Check::State;
  Check check{.state = kGood, .name = "cgroup layout", .detail = "v2"};
  if (filesystem_of("/sys/fs/cgroup") == CGROUP2_SUPER_MAGIC) return {check};
  if (filesystem_of("/sys/fs/cgroup/unified") == CGROUP2_SUPER_MAGIC) {
    check.state = kAdvice;
    check.detail =
        "hybrid, which crun refuses; runc works, and so does crun in a mount namespace without v2: "
        "unshare -m sh -c 'umount /sys/fs/cgroup/unified; crun run ...'";
  } else if (filesystem_of("/sys/fs/cgroup") == TMPFS_MAGIC) {
    check.detail = "v1";
  } else {
    check.state = kAdvice;
    check.detail =
        "none is mounted on /sys/fs/cgroup: sandboxes then show the host's limits; mount cgroup2 "
        "there";
  }
  return {check};
}

}  // namespace sidecall::cli
