#include "kernel/actor.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace sidecall::kernel {
namespace {

using CapabilityData = std::array<__user_cap_data_struct, 2>;

// All of these act on the calling thread alone, by the bare system call: glibc's wrappers change
// every thread of the process.
bool read_capabilities(CapabilityData& data) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return ::syscall(SYS_capget, &header, data.data()) == 0;
}

bool write_capabilities(const CapabilityData& data) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

CapabilityData with_effective(CapabilityData data, std::uint64_t effective) {
  data[0].effective = data[0].permitted & static_cast<__u32>(effective);
  data[1].effective = data[1].permitted & static_cast<__u32>(effective >> 32U);
  return data;
}

class KernelActor final : public Actor {
 public:
  explicit KernelActor(const CapabilityData& capabilities) : all_(capabilities) {}

  SysResult<void> make_node(const CallerView& view, const std::string& path, mode_t mode,
                            dev_t device) override {
    return as_caller(view, 1ULL << CAP_MKNOD, [&] {
      return ::mknodat(AT_FDCWD, path.c_str(), mode, device) == 0 ? 0 : errno;
    });
  }

 private:
  // Runs `act` (which returns an errno or 0) as the caller, with only `lent` of our capabilities.
  // Magic links of a /proc that the caller can see are thus followed with the caller's rights too.
  template <typename Act>
  SysResult<void> as_caller(const CallerView& view, std::uint64_t lent, Act act) {
    if (!enter(view)) return sys_failure(errno);
    if (!write_capabilities(with_effective(all_, lent))) return sys_failure(errno);
    const int number = act();
    // Without its capabilities back the thread can serve nobody: better no worker than a wrong one.
    if (!write_capabilities(all_)) std::abort();
    if (number != 0) return sys_failure(number);
    return {};
  }

  bool enter(const CallerView& view) {
    const Credentials& ids = view.credentials;
    if (::fchdir(view.root.get()) != 0 || ::chroot(".") != 0) return false;
    if (view.base && ::fchdir(view.base.get()) != 0) return false;
    ::umask(ids.umask);
    if (::syscall(SYS_setgroups, ids.groups.size(), ids.groups.data()) != 0) return false;
    return set_filesystem_id(SYS_setfsgid, ids.fsgid) && set_filesystem_id(SYS_setfsuid, ids.fsuid);
  }

  // setfsuid(2) reports no failure: asking again with an id that cannot be gives the current one.
  static bool set_filesystem_id(long call, unsigned id) {
    ::syscall(call, id);
    if (static_cast<unsigned>(::syscall(call, -1)) == id) return true;
    errno = EPERM;
    return false;
  }

  CapabilityData all_;  // as the thread started with them
};

}  // namespace

Result<std::unique_ptr<Actor>> become_actor() {
  if (::unshare(CLONE_FS) != 0) return errno_failure("separating the thread's directory and umask");
  // Or else setfsuid(2) to another id would clear CAP_MKNOD from the effective set.
  const int bits = ::prctl(PR_GET_SECUREBITS);
  if (bits < 0 || (static_cast<unsigned>(bits) & SECBIT_NO_SETUID_FIXUP) == 0) {
    return failure("SECBIT_NO_SETUID_FIXUP is not set");
  }
  CapabilityData capabilities{};
  if (!read_capabilities(capabilities)) return errno_failure("reading the thread's capabilities");
  return std::make_unique<KernelActor>(with_effective(capabilities, ~std::uint64_t{0}));
}

}  // namespace sidecall::kernel
