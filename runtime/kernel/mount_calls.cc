#include "kernel/mount_calls.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "kernel/sys_done.h"

namespace sidecall::kernel {
namespace {

SysResult<UniqueFd> opened(long fd) {
  if (fd < 0) return sys_failure(errno);
  return UniqueFd(static_cast<int>(fd));
}

// Of these the two interfaces have the same values.
constexpr unsigned kShared =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
constexpr unsigned long kNoSymlinks = 256;  // MS_NOSYMFOLLOW, Linux 5.10

unsigned attributes_of(unsigned long flags) {
  unsigned attributes = static_cast<unsigned>(flags) & kShared;
  if ((flags & kNoSymlinks) != 0) attributes |= MOUNT_ATTR_NOSYMFOLLOW;
  if ((flags & MS_NODIRATIME) != 0) attributes |= MOUNT_ATTR_NODIRATIME;
  // As mount(2) weighs them.
  if ((flags & MS_STRICTATIME) != 0) return attributes | MOUNT_ATTR_STRICTATIME;
  if ((flags & MS_NOATIME) != 0) return attributes | MOUNT_ATTR_NOATIME;
  return attributes;
}

}  // namespace

SysResult<std::uint64_t> mount_id(int file) {
  constexpr unsigned kUniqueMountId = 0x4000;  // STATX_MNT_ID_UNIQUE
  struct statx about {};
  // Of the filesystem, which may be a program that does not answer, nothing is asked.
  constexpr int kFlags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  if (::statx(file, "", kFlags, kUniqueMountId, &about) != 0) return sys_failure(errno);
  if ((about.stx_mask & kUniqueMountId) == 0) return sys_failure(EOPNOTSUPP);
  return about.stx_mnt_id;
}

SysResult<UniqueFd> copy_mount(int directory, const char* path, bool recursive) {
  const unsigned flags =
      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
  return opened(::syscall(SYS_open_tree, directory, path, flags));
}

SysResult<void> attach_mount(int mount, int target) {
  return sys_done(::syscall(SYS_move_mount, mount, "", target, "",
                            MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
}

SysResult<void> map_mount_ids(int mount, int user_namespace) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_IDMAP;
  attributes.userns_fd = static_cast<__u64>(user_namespace);
  return sys_done(
      ::syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes));
}

SysResult<void> add_mount_attributes(int mount, unsigned long flags) {
  mount_attr attributes{};
  attributes.attr_set = attributes_of(flags);
  if (attributes.attr_set == 0 && (flags & MS_STRICTATIME) == 0) return {};
  // One of several values, of which strict is 0.
  if ((flags & (MS_STRICTATIME | MS_NOATIME)) != 0) attributes.attr_clr = MOUNT_ATTR__ATIME;
  return sys_done(::syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                            sizeof attributes));
}

SysResult<UniqueFd> new_proc(int pid_namespace, unsigned long flags) {
  auto proc = opened(::syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC));
  if (!proc) return proc;
  if (auto set = sys_done(
          ::syscall(SYS_fsconfig, proc->get(), FSCONFIG_SET_FD, "pidns", nullptr, pid_namespace));
      !set) {
    return tl::unexpected<Errno>(set.error());
  }
  if (auto made =
          sys_done(::syscall(SYS_fsconfig, proc->get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0));
      !made) {
    return tl::unexpected<Errno>(made.error());
  }
  return opened(::syscall(SYS_fsmount, proc->get(), FSMOUNT_CLOEXEC, attributes_of(flags)));
}

}  // namespace sidecall::kernel
