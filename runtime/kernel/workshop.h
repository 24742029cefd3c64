// Where a sandbox's helper makes mounts before they are handed to a caller.
//
// The workshop is a mount namespace of the worker's process tree with one tmpfs in it and nothing
// of the host's. The helper mounts there with the host's rights. What it mounts arrives, by mount
// propagation, in a copy of the workshop that belongs to the sandbox's user namespace, from where
// the worker takes it to the caller. It is this detour that makes the kernel lock the mount's flags
// (mount_namespaces(7), "restrictions"): root of the container cannot take nodev off again.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::kernel {

// Moves the calling process, which must have one thread, into a new workshop. Its paths are those
// of the workshop from then on.
[[nodiscard]] Result<void> enter_workshop();

// The same for the copy that belongs to the user namespace that the process is in by now.
[[nodiscard]] Result<void> enter_workshop_copy();

// A filesystem to be mounted in the workshop, by mount(2).
struct AsideMount {
  std::string type;
  std::string source;
  std::string data;         // without a NUL
  unsigned long flags = 0;  // MS_*
  dev_t device = 0;         // where the source is a block device: that one, under the source's name
  bool id_mapped = false;   // by the sandbox's ids, where the filesystem can be
  // A descriptor on a network namespace, by which a server is to be reached; stays the caller's.
  // EPERM where it does not belong to the sandbox's user namespace. -1: it makes no difference.
  int network = -1;
};

// On a thread of the helper that has a filesystem context of its own. One mount at a time.
class HostMounts {
 public:
  // Descriptors of the caller's: on /proc, and on the sandbox's user namespace.
  HostMounts(int proc, int user_namespace) : proc_(proc), user_namespace_(user_namespace) {}

  // Mounts it, and gives its path in the workshop's copy.
  [[nodiscard]] SysResult<std::string> mount_aside(const AsideMount& wanted);
  // Forgets it here: whoever has taken it keeps it.
  void drop_aside();

 private:
  [[nodiscard]] SysResult<void> enter_own_directory();
  // mount(2) onto the place for it, in the network namespace that is asked for.
  [[nodiscard]] SysResult<void> mount_raw(const std::string& source,
                                          const AsideMount& wanted) const;
  [[nodiscard]] bool is_of_sandbox(int network) const;

  int proc_;
  int user_namespace_;
  std::string directory_;  // the thread's own, in the workshop
};

}  // namespace sidecall::kernel
