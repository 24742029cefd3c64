// The seam to system calls that are made with the host's rights, in a sandbox's helper. Each works
// on descriptors and plain names alone: nothing that a container could move is walked here.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "kernel/file_attributes.h"
#include "kernel/host_clock.h"
#include "kernel/host_owners.h"
#include "kernel/host_schedule.h"
#include "kernel/user_namespace.h"
#include "kernel/workshop.h"

namespace sidecall::kernel {

// Whose a new file becomes. Ids are those of the sandbox.
struct Owner {
  uid_t user = 0;
  gid_t group = 0;
  mode_t umask = 022;
};

// Acts on one thread of the helper. Not shared between threads.
class HostActions {
 public:
  HostActions() = default;
  HostActions(const HostActions&) = delete;
  HostActions& operator=(const HostActions&) = delete;
  virtual ~HostActions() = default;

  // mknodat(2) in the directory `parent`, without asking whether the owner may write there. EINVAL
  // for a name that is no single component, EOVERFLOW for an owner that the sandbox does not have.
  [[nodiscard]] virtual SysResult<void> make_node(int parent, const std::string& name, mode_t mode,
                                                  dev_t device, const Owner& owner) = 0;
  // Whether a device node can be opened where it is: not on a filesystem that is mounted nodev or
  // belongs to a user namespace. Opens it, without waiting, and closes it again.
  [[nodiscard]] virtual bool node_works(int parent, const std::string& name) = 0;
  // A detached mount of such a node, to be attached on a file where none would work. In a workshop.
  [[nodiscard]] virtual SysResult<UniqueFd> loose_node(mode_t mode, dev_t device,
                                                       const Owner& owner) = 0;
  // Forgets it here, once it is attached: before that the kernel would refuse to.
  virtual void drop_loose_node() = 0;

  // Extended attributes of files whose owner and group the sandbox has: EPERM for any other file.
  [[nodiscard]] virtual FileAttributes& attributes() = 0;
  // HostOwners of kernel/host_owners.h.
  [[nodiscard]] virtual SysResult<void> change_owner(int file, const OwnerChange& wanted) = 0;

  // HostMounts of kernel/workshop.h.
  [[nodiscard]] virtual SysResult<std::string> mount_aside(const AsideMount& wanted) = 0;
  virtual void drop_aside() = 0;

  // kernel/host_clock.h.
  [[nodiscard]] virtual SysResult<void> set_clock(const std::optional<timespec>& time,
                                                  const std::optional<struct timezone>& zone) = 0;
  [[nodiscard]] virtual SysResult<int> adjust_clock(timex& adjustment) = 0;

  // HostSchedule of kernel/host_schedule.h.
  [[nodiscard]] virtual SysResult<Schedule> schedule(pid_t thread) = 0;
  [[nodiscard]] virtual SysResult<void> set_schedule(pid_t thread, const Schedule& wanted) = 0;
  [[nodiscard]] virtual SysResult<void> set_nice(pid_t thread, int nice) = 0;
  [[nodiscard]] virtual SysResult<void> set_io_priority(pid_t thread, int priority) = 0;
};

// The real ones. Gives the calling thread a filesystem context of its own.
// `users` and `proc`, a descriptor on /proc, outlive it.
[[nodiscard]] Result<std::unique_ptr<HostActions>> become_host_actor(const SandboxUsers& users,
                                                                     int proc);

}  // namespace sidecall::kernel
