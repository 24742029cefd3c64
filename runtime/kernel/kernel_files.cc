#include "kernel/kernel_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/mount_calls.h"
#include "kernel/own_path.h"
#include "kernel/sys_done.h"

namespace sidecall::kernel {
namespace {

// Whether it is the root directory of a proc.
bool is_proc(int directory) {
  constexpr ino_t kRootInode = 1;  // PROC_ROOT_INO
  struct statfs filesystem {};
  struct stat about {};
  return ::fstatfs(directory, &filesystem) == 0 && filesystem.f_type == PROC_SUPER_MAGIC &&
         ::fstat(directory, &about) == 0 && about.st_ino == kRootInode;
}

const char* pointer(const std::optional<std::string>& text) {
  return text ? text->c_str() : nullptr;
}

}  // namespace

SysResult<UniqueFd> KernelFiles::open_path(const std::string& path, int flags) {
  UniqueFd opened(::open(path.c_str(), O_PATH | O_CLOEXEC | flags));
  if (!opened) return sys_failure(errno);
  return opened;
}

SysResult<UniqueFd> KernelFiles::open_file(const std::string& path, int flags, mode_t mode) {
  UniqueFd opened(::open(path.c_str(), flags | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, mode));
  if (!opened) return sys_failure(errno);
  // F_SETFL changes O_APPEND, O_NONBLOCK and others that are not ours to set, and no access mode.
  if ((flags & (O_NONBLOCK | O_PATH)) == 0 &&
      ::fcntl(opened.get(), F_SETFL, flags & O_APPEND) != 0) {
    return sys_failure(errno);
  }
  return opened;
}

SysResult<void> KernelFiles::make_node(int parent, const std::string& name, mode_t mode,
                                       dev_t device) {
  return sys_done(::mknodat(parent, name.c_str(), mode, device));
}

SysResult<void> KernelFiles::remove(int parent, const std::string& name) {
  return sys_done(::unlinkat(parent, name.c_str(), 0));
}

SysResult<UniqueFd> KernelFiles::make_file(int parent, const std::string& name) {
  UniqueFd made(
      ::openat(parent, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made) return sys_failure(errno);
  return made;
}

SysResult<void> KernelFiles::change_owner(int file, uid_t user, gid_t group) {
  return sys_done(::fchownat(file, "", user, group, AT_EMPTY_PATH));
}

SysResult<void> KernelFiles::mount(const MountArguments& arguments) {
  return sys_done(::mount(pointer(arguments.source), arguments.target.c_str(),
                          pointer(arguments.type), arguments.flags, pointer(arguments.data)));
}

SysResult<void> KernelFiles::attach_mount(int mount, int target) {
  return kernel::attach_mount(mount, target);
}

SysResult<void> KernelFiles::detach_mount(int mount) {
  // By the descriptor, through our own /proc: the caller's path may lead elsewhere by now.
  const auto path = own_path(proc_, mount);
  if (!path) return tl::unexpected<Errno>(path.error());
  return sys_done(::umount2(path->c_str(), MNT_DETACH));
}

SysResult<std::uint64_t> KernelFiles::mount_id(int file) {
  return kernel::mount_id(file);
}

SysResult<UniqueFd> KernelFiles::copy_file(int file, bool writable) {
  // By the system call: the C library's wrapper of 2.36 asks for the real ids.
  constexpr int kFlags = AT_EMPTY_PATH | AT_EACCESS;
  if (auto may =
          sys_done(::syscall(SYS_faccessat2, file, "", writable ? R_OK | W_OK : R_OK, kFlags));
      !may) {
    return tl::unexpected<Errno>(may.error());
  }
  return kernel::copy_mount(file, "", false);
}

SysResult<UniqueFd> KernelFiles::copy_proc(unsigned long flags) {
  // Never anything else: that would be a bind mount.
  if (!is_proc(namespace_proc_)) return sys_failure(EINVAL);
  auto copy = kernel::copy_mount(namespace_proc_, "", true);
  if (!copy) return copy;
  if (auto set = add_mount_attributes(copy->get(), flags); !set) {
    return tl::unexpected<Errno>(set.error());
  }
  return copy;
}

SysResult<UniqueFd> KernelFiles::new_proc(int pid_namespace, unsigned long flags) {
  return kernel::new_proc(pid_namespace, flags);
}

}  // namespace sidecall::kernel
