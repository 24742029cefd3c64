#include "kernel/workshop.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "kernel/mount_calls.h"
#include "kernel/sys_done.h"

namespace sidecall::kernel {
namespace {

// Below the thread's own directory, which is its root. No source's name is one of these, or below
// one: see node_path().
constexpr const char* kRaw = "/.raw";
constexpr const char* kReady = "/.ready";

// Where the device's node is to stand: the name that the caller gave it, which is what /proc/mounts
// will show, if that is a plain absolute path.
std::string node_path(const std::string& source) {
  constexpr std::size_t kMostBytes = 200;
  const bool plain = source.size() > 1 && source.size() <= kMostBytes && source.front() == '/' &&
                     source.back() != '/' && source.find("//") == std::string::npos &&
                     source.find("/.") == std::string::npos;
  return plain ? source : "/dev/device";
}

SysResult<void> make_node(const std::string& path, dev_t device) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), 0700) != 0 && errno != EEXIST) {
      return sys_failure(errno);
    }
  }
  ::unlink(path.c_str());  // of an earlier mount
  if (::mknod(path.c_str(), S_IFBLK | 0600, device) != 0) return sys_failure(errno);
  return {};
}

}  // namespace

Result<void> enter_workshop() {
  if (::unshare(CLONE_NEWNS) != 0) return errno_failure("making a mount namespace");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return errno_failure("separating mounts");
  }
  // Over a directory that is there on every host; it is gone from here in a moment.
  constexpr const char* kAnywhere = "/proc";
  if (::mount("sidecall", kAnywhere, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755") != 0 ||
      ::chdir(kAnywhere) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
      ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0 ||
      ::mount(nullptr, "/", nullptr, MS_SHARED, nullptr) != 0) {
    return errno_failure("making the workshop for mounts");
  }
  return {};
}

Result<void> enter_workshop_copy() {
  if (::unshare(CLONE_NEWNS) != 0) return errno_failure("copying the workshop for mounts");
  return {};
}

SysResult<void> HostMounts::enter_own_directory() {
  if (!directory_.empty()) return {};
  const std::string directory = "/" + std::to_string(::gettid());
  if ((::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) ||
      ::chdir(directory.c_str()) != 0 || ::chroot(".") != 0 || ::mkdir(kRaw, 0755) != 0 ||
      ::mkdir(kReady, 0755) != 0) {
    return sys_failure(errno);
  }
  directory_ = directory;
  return {};
}

bool HostMounts::is_of_sandbox(int network) const {
  if (::ioctl(network, NS_GET_NSTYPE) != CLONE_NEWNET) return false;
  const UniqueFd owner(::ioctl(network, NS_GET_USERNS));
  struct stat theirs {};
  struct stat sandbox {};
  return owner && ::fstat(owner.get(), &theirs) == 0 && ::fstat(user_namespace_, &sandbox) == 0 &&
         theirs.st_dev == sandbox.st_dev && theirs.st_ino == sandbox.st_ino;
}

SysResult<void> HostMounts::mount_raw(const std::string& source, const AsideMount& wanted) const {
  const auto mount_here = [&] {
    return sys_done(
        ::mount(source.c_str(), kRaw, wanted.type.c_str(), wanted.flags, wanted.data.c_str()));
  };
  if (wanted.network < 0) return mount_here();
  if (!is_of_sandbox(wanted.network)) return sys_failure(EPERM);
  const UniqueFd own(::openat(proc_, "thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!own || ::setns(wanted.network, CLONE_NEWNET) != 0) return sys_failure(errno);
  auto mounted = mount_here();
  // Nothing of ours is to be on the sandbox's network: better no helper.
  if (::setns(own.get(), CLONE_NEWNET) != 0) std::abort();
  return mounted;
}

SysResult<std::string> HostMounts::mount_aside(const AsideMount& wanted) {
  if (auto entered = enter_own_directory(); !entered) {
    return tl::unexpected<Errno>(entered.error());
  }
  std::string source = wanted.source;
  if (wanted.device != 0) {
    source = node_path(source);
    if (auto made = make_node(source, wanted.device); !made) {
      return tl::unexpected<Errno>(made.error());
    }
  }
  const auto mounted = mount_raw(source, wanted);
  if (wanted.device != 0) ::unlink(source.c_str());
  if (!mounted) return tl::unexpected<Errno>(mounted.error());

  auto copy = copy_mount(AT_FDCWD, kRaw, false);
  ::umount2(kRaw, MNT_DETACH);
  if (!copy) return tl::unexpected<Errno>(copy.error());
  if (wanted.id_mapped) {
    // EINVAL: this filesystem cannot be.
    auto mapped = map_mount_ids(copy->get(), user_namespace_);
    if (!mapped && mapped.error().value != EINVAL) return tl::unexpected<Errno>(mapped.error());
  }
  const UniqueFd place(::open(kReady, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place) return sys_failure(errno);
  if (auto attached = attach_mount(copy->get(), place.get()); !attached) {
    return tl::unexpected<Errno>(attached.error());
  }
  return directory_ + kReady;
}

void HostMounts::drop_aside() {
  if (!directory_.empty()) ::umount2(kReady, MNT_DETACH);
}

}  // namespace sidecall::kernel
