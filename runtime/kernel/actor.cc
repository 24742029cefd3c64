#include "kernel/actor.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <vector>

#include "kernel/filesystem_ids.h"
#include "kernel/kernel_files.h"
#include "kernel/mount_calls.h"
#include "kernel/thread_capabilities.h"

namespace sidecall::kernel {
namespace {

class KernelActor final : public Actor {
 public:
  KernelActor(const CapabilityData& capabilities, UniqueFd proc, UniqueFd own_root,
              UniqueFd own_mounts)
      : all_(capabilities),
        proc_(std::move(proc)),
        own_root_(std::move(own_root)),
        own_mounts_(std::move(own_mounts)) {}

  SysResult<void> as_caller(const CallerView& view, Act act) override {
    auto acted = in_view(view, act);
    // A directory that we stay in could not be unmounted.
    if (!go_to(own_root_)) std::abort();
    return acted;
  }

  SysResult<UniqueFd> take_aside(const std::string& path) override {
    if (::setns(own_mounts_.get(), CLONE_NEWNS) != 0 || !go_to(own_root_)) {
      return sys_failure(errno);
    }
    return copy_mount(AT_FDCWD, path.c_str(), false);
  }

 private:
  SysResult<void> in_view(const CallerView& view, Act act) {
    UniqueFd namespace_proc;
    if (view.mount_namespace) {
      if (::setns(view.mount_namespace.get(), CLONE_NEWNS) != 0) return sys_failure(errno);
      namespace_proc = UniqueFd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    if (!enter(view)) return sys_failure(errno);
    const std::uint64_t effective = view.credentials.effective_capabilities | view.lent;
    if (!write_capabilities(with_effective(all_, effective))) return sys_failure(errno);
    // Magic links of a /proc that the caller can see are thus followed with the caller's rights.
    KernelFiles files(proc_.get(), namespace_proc.get());
    auto acted = act(files);
    // Without its capabilities back the thread can serve nobody: better no worker than a wrong one.
    if (!write_capabilities(all_)) std::abort();
    return acted;
  }

  bool enter(const CallerView& view) {
    const Credentials& ids = view.credentials;
    for (const UniqueFd& other : view.other_namespaces) {
      if (::setns(other.get(), 0) != 0 && errno != EPERM) return false;
    }
    if (!go_to(view.root)) return false;
    if (view.base && ::fchdir(view.base.get()) != 0) return false;
    ::umask(ids.umask);
    return take_ids(ids);
  }

  // Most callers are the last one again, and each change makes the kernel copy the credentials.
  bool take_ids(const Credentials& ids) {
    if (groups_ != ids.groups) {
      groups_.reset();
      if (::syscall(SYS_setgroups, ids.groups.size(), ids.groups.data()) != 0) return false;
      groups_ = ids.groups;
    }
    if (fsgid_ != ids.fsgid) {
      fsgid_.reset();
      if (!set_filesystem_group(ids.fsgid)) return false;
      fsgid_ = ids.fsgid;
    }
    if (fsuid_ != ids.fsuid) {
      fsuid_.reset();
      if (!set_filesystem_user(ids.fsuid)) return false;
      fsuid_ = ids.fsuid;
    }
    return true;
  }

  static bool go_to(const UniqueFd& root) {
    return ::fchdir(root.get()) == 0 && ::chroot(".") == 0;
  }

  CapabilityData all_;  // as the thread started with them
  UniqueFd proc_;
  UniqueFd own_root_;
  UniqueFd own_mounts_;  // the mount namespace
  // What the thread has now, where that is known.
  std::optional<std::vector<gid_t>> groups_;
  std::optional<gid_t> fsgid_;
  std::optional<uid_t> fsuid_;
};

}  // namespace

Result<std::unique_ptr<Actor>> become_actor(int proc) {
  if (::unshare(CLONE_FS) != 0) return errno_failure("separating the thread's directory and umask");
  // Or else setfsuid(2) to another id would clear capabilities from the effective set.
  const int bits = ::prctl(PR_GET_SECUREBITS);
  if (bits < 0 || (static_cast<unsigned>(bits) & SECBIT_NO_SETUID_FIXUP) == 0) {
    return failure("SECBIT_NO_SETUID_FIXUP is not set");
  }
  CapabilityData capabilities{};
  if (!read_capabilities(capabilities)) return errno_failure("reading the thread's capabilities");
  UniqueFd own_root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!own_root) return errno_failure("opening the worker's root");
  UniqueFd own_mounts(::openat(proc, "thread-self/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (!own_mounts) return errno_failure("opening the worker's mount namespace");
  return std::make_unique<KernelActor>(with_effective(capabilities, ~std::uint64_t{0}),
                                       UniqueFd(::fcntl(proc, F_DUPFD_CLOEXEC, 0)),
                                       std::move(own_root), std::move(own_mounts));
}

std::uint64_t actor_capabilities() {
  std::uint64_t bits = 0;
  for (const int capability :
       {CAP_SYS_PTRACE, CAP_SYS_CHROOT, CAP_SETUID, CAP_SETGID, CAP_DAC_OVERRIDE,
        CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID, CAP_CHOWN}) {
    bits |= std::uint64_t{1} << static_cast<unsigned>(capability);
  }
  return bits;
}

}  // namespace sidecall::kernel
