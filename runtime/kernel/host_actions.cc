#include "kernel/host_actions.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "kernel/filesystem_ids.h"
#include "kernel/mount_calls.h"

namespace sidecall::kernel {
namespace {

bool is_one_component(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

// Asks of each file what the kernel would ask of a caller's: capable_wrt_inode_uidgid().
class SandboxFileAttributes final : public FileAttributes {
 public:
  SandboxFileAttributes(const IdMaps& ids, int proc) : ids_(ids), all_(proc) {}

  SysResult<void> set(int file, const std::string& name, std::string_view value,
                      int flags) override {
    return owned(file).and_then([&] { return all_.set(file, name, value, flags); });
  }
  SysResult<void> remove(int file, const std::string& name) override {
    return owned(file).and_then([&] { return all_.remove(file, name); });
  }
  SysResult<std::string> get(int file, const std::string& name) override {
    return owned(file).and_then([&] { return all_.get(file, name); });
  }
  SysResult<std::string> list(int file) override {
    return owned(file).and_then([&] { return all_.list(file); });
  }

 private:
  [[nodiscard]] SysResult<void> owned(int file) const {
    struct stat about {};
    if (::fstat(file, &about) != 0) return sys_failure(errno);
    if (!ids_.users.inside(about.st_uid) || !ids_.groups.inside(about.st_gid)) {
      return sys_failure(EPERM);
    }
    return {};
  }

  const IdMaps& ids_;
  KernelFileAttributes all_;
};

class KernelHostActions final : public HostActions {
 public:
  KernelHostActions(const SandboxUsers& users, int proc)
      : ids_(users.ids),
        attributes_(users.ids, proc),
        owners_(users.ids),
        mounts_(proc, users.name_space.get()),
        schedule_(proc, users.name_space.get()) {}

  SysResult<void> make_node(int parent, const std::string& name, mode_t mode, dev_t device,
                            const Owner& owner) override {
    if (!is_one_component(name)) return sys_failure(EINVAL);
    if (auto owned = own(owner); !owned) return owned;
    if (::mknodat(parent, name.c_str(), mode, device) != 0) return sys_failure(errno);
    return {};
  }

  FileAttributes& attributes() override { return attributes_; }
  SysResult<void> change_owner(int file, const OwnerChange& wanted) override {
    own_.reset();
    return owners_.change(file, wanted);
  }

  bool node_works(int parent, const std::string& name) override {
    if (!is_one_component(name)) return false;
    const UniqueFd opened(
        ::openat(parent, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
    // The kernel's answer for such a filesystem, before the driver is asked: may_open_dev().
    return opened || errno != EACCES;
  }

  SysResult<UniqueFd> loose_node(mode_t mode, dev_t device, const Owner& owner) override {
    drop_loose_node();  // of a worker that has forgotten it
    const std::string name = loose_name();
    if (auto made = make_node(AT_FDCWD, name, mode, device, owner); !made) {
      return tl::unexpected<Errno>(made.error());
    }
    return copy_mount(AT_FDCWD, name.c_str(), false);
  }

  void drop_loose_node() override { ::unlink(loose_name().c_str()); }

  SysResult<std::string> mount_aside(const AsideMount& wanted) override {
    return mounts_.mount_aside(wanted);
  }
  void drop_aside() override { mounts_.drop_aside(); }

  SysResult<void> set_clock(const std::optional<timespec>& time,
                            const std::optional<struct timezone>& zone) override {
    return set_host_clock(time, zone);
  }
  SysResult<int> adjust_clock(timex& adjustment) override { return adjust_host_clock(adjustment); }

  SysResult<Schedule> schedule(pid_t thread) override { return HostSchedule::get(thread); }
  SysResult<void> set_schedule(pid_t thread, const Schedule& wanted) override {
    return schedule_.set(thread, wanted);
  }
  SysResult<void> set_nice(pid_t thread, int nice) override {
    return schedule_.set_nice(thread, nice);
  }
  SysResult<void> set_io_priority(pid_t thread, int priority) override {
    return schedule_.set_io_priority(thread, priority);
  }

 private:
  // In the thread's working directory, which is the workshop's and may be other threads' too.
  static std::string loose_name() { return "node-" + std::to_string(::gettid()); }

  // For what the thread makes next.
  SysResult<void> own(const Owner& owner) {
    const auto user = ids_.users.outside(owner.user);
    const auto group = ids_.groups.outside(owner.group);
    if (!user || !group) return sys_failure(EOVERFLOW);
    ::umask(owner.umask);
    // Most things are made for whom the last was, and each change copies the credentials.
    if (own_ == std::pair(*user, *group)) return {};
    own_.reset();
    if (!set_filesystem_group(*group) || !set_filesystem_user(*user)) return sys_failure(errno);
    own_ = std::pair(*user, *group);
    return {};
  }

  const IdMaps& ids_;
  SandboxFileAttributes attributes_;
  HostOwners owners_;
  HostMounts mounts_;
  HostSchedule schedule_;
  std::optional<std::pair<uid_t, gid_t>> own_;  // the thread's, where they are known
};

}  // namespace

Result<std::unique_ptr<HostActions>> become_host_actor(const SandboxUsers& users, int proc) {
  if (::unshare(CLONE_FS) != 0) return errno_failure("separating the thread's directory and umask");
  return std::make_unique<KernelHostActions>(users, proc);
}

}  // namespace sidecall::kernel
