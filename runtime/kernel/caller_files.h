// The seam to system calls on files that are made as a caller: with its view of the file system,
// its ids, groups, umask and capabilities. The kernel decides; nothing is lent but what the view
// says.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/file_attributes.h"

namespace sidecall::kernel {

// The arguments of mount(2), copied. An absent one is a null pointer.
struct MountArguments {
  std::optional<std::string> source;
  std::string target;
  std::optional<std::string> type;
  unsigned long flags = 0;
  std::optional<std::string> data;
};

// Relative paths start at the view's base.
class CallerFiles {
 public:
  CallerFiles() = default;
  CallerFiles(const CallerFiles&) = delete;
  CallerFiles& operator=(const CallerFiles&) = delete;
  virtual ~CallerFiles() = default;

  // openat(2) with O_PATH and `flags` (O_NOFOLLOW, O_DIRECTORY).
  [[nodiscard]] virtual SysResult<UniqueFd> open_path(const std::string& path, int flags) = 0;
  // open(2) with `flags`; O_NOCTTY goes with them. Never waits for the other end of a FIFO.
  [[nodiscard]] virtual SysResult<UniqueFd> open_file(const std::string& path, int flags,
                                                      mode_t mode) = 0;
  // mknodat(2) in the directory `parent`.
  [[nodiscard]] virtual SysResult<void> make_node(int parent, const std::string& name, mode_t mode,
                                                  dev_t device) = 0;
  // unlinkat(2) of what is no directory; a new and empty regular file.
  [[nodiscard]] virtual SysResult<void> remove(int parent, const std::string& name) = 0;
  [[nodiscard]] virtual SysResult<UniqueFd> make_file(int parent, const std::string& name) = 0;
  // chown(2) of what a descriptor, which may be of O_PATH, refers to; an id of -1 stays.
  [[nodiscard]] virtual SysResult<void> change_owner(int file, uid_t user, gid_t group) = 0;
  [[nodiscard]] virtual FileAttributes& attributes() = 0;

  // In a view that enters the caller's mount namespace:
  // mount(2).
  [[nodiscard]] virtual SysResult<void> mount(const MountArguments& arguments) = 0;
  // Attaches a detached mount at what `target` is a descriptor of.
  [[nodiscard]] virtual SysResult<void> attach_mount(int mount, int target) = 0;
  // Takes off, as by MNT_DETACH, the mount that `mount` is a descriptor of the root of: EINVAL for
  // any other.
  [[nodiscard]] virtual SysResult<void> detach_mount(int mount) = 0;
  // The kernel's number for the mount that `file` is on, never given to another one (Linux 6.8).
  [[nodiscard]] virtual SysResult<std::uint64_t> mount_id(int file) = 0;
  // A detached mount of a file alone. EACCES, EROFS and the like where the caller may not open it
  // for reading, and for writing if `writable`.
  [[nodiscard]] virtual SysResult<UniqueFd> copy_file(int file, bool writable) = 0;
  // A detached copy of the proc that is /proc in the mount namespace's root, wherever the caller's
  // own is, and of all mounts below it (EINVAL where there is no proc); and a detached mount of a
  // new proc of the pid namespace (Linux 6.17). Both with what `flags` of mount(2) say.
  [[nodiscard]] virtual SysResult<UniqueFd> copy_proc(unsigned long flags) = 0;
  [[nodiscard]] virtual SysResult<UniqueFd> new_proc(int pid_namespace, unsigned long flags) = 0;
};

}  // namespace sidecall::kernel
