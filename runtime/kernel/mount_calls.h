// The newer mount system calls, which Debian 12's C library lacks: open_tree(2), move_mount(2),
// mount_setattr(2), fsopen(2) and its kin. Numbers are the same on every architecture.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::kernel {

// A detached copy of the mount at `path`, or for "" at `directory` itself, with the mounts below it
// if `recursive`.
[[nodiscard]] SysResult<UniqueFd> copy_mount(int directory, const char* path, bool recursive);
// Attaches a detached mount at what `target` is a descriptor of.
[[nodiscard]] SysResult<void> attach_mount(int mount, int target);
// Id-maps a detached mount by a user namespace.
[[nodiscard]] SysResult<void> map_mount_ids(int mount, int user_namespace);
// Sets what `flags` of mount(2) say (MS_NOSUID, MS_RDONLY, …) on a detached mount and all below it.
[[nodiscard]] SysResult<void> add_mount_attributes(int mount, unsigned long flags);
// A detached mount of a new proc of the pid namespace `pid_namespace` (Linux 6.17; EINVAL before).
[[nodiscard]] SysResult<UniqueFd> new_proc(int pid_namespace, unsigned long flags);
// STATX_MNT_ID_UNIQUE of statx(2), Linux 6.8: EOPNOTSUPP before.
[[nodiscard]] SysResult<std::uint64_t> mount_id(int file);

}  // namespace sidecall::kernel
