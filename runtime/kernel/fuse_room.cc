#include "kernel/fuse_room.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string>

#include "kernel/mount_calls.h"
#include "kernel/privileges.h"

namespace sidecall::kernel {
namespace {

// Below the root, of the host's and of the room's. What the host does not have is left out.
constexpr std::array kPrograms = {"usr",   "bin",   "sbin",   "lib",
                                  "lib32", "lib64", "libx32", "etc/ld.so.cache"};

struct Device {
  const char* path;
  unsigned major;
  unsigned minor;
};
constexpr std::array kDevices = {Device{"dev/null", 1, 3},    Device{"dev/zero", 1, 5},
                                 Device{"dev/full", 1, 7},    Device{"dev/random", 1, 8},
                                 Device{"dev/urandom", 1, 9}, Device{"dev/fuse", 10, 229}};

// Binds a file or directory of the host's, or makes the same symbolic link. In the room's root.
bool show(const char* path) {
  const std::string source = std::string("/") + path;
  struct stat about {};
  if (::lstat(source.c_str(), &about) != 0) return errno == ENOENT;
  if (S_ISLNK(about.st_mode)) {
    std::array<char, PATH_MAX> aim{};  // without a NUL: the array has one more than is read
    return ::readlink(source.c_str(), aim.data(), aim.size() - 1) > 0 &&
           ::symlink(aim.data(), path) == 0;
  }
  const bool made =
      S_ISDIR(about.st_mode) ? ::mkdir(path, 0755) == 0 : ::mknod(path, S_IFREG | 0644, 0) == 0;
  return made && ::mount(source.c_str(), path, nullptr, MS_BIND | MS_REC, nullptr) == 0;
}

bool furnish() {
  for (const char* directory : {"dev", "etc", "mnt"}) {
    if (::mkdir(directory, 0755) != 0) return false;
  }
  for (const char* path : kPrograms) {
    if (!show(path)) return false;
  }
  for (const Device& device : kDevices) {
    // For everybody: the host's /dev/fuse may be for its root alone, who is nobody here.
    if (::mknod(device.path, S_IFCHR | 0666, ::makedev(device.major, device.minor)) != 0) {
      return false;
    }
  }
  return true;
}

bool make_root() {
  // Over a directory that is there on every host; it is gone from here in a moment.
  constexpr const char* kAnywhere = "/proc";
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("sidecall", kAnywhere, "tmpfs", MS_NOSUID, "mode=0755") != 0 ||
      ::chdir(kAnywhere) != 0) {
    return false;
  }
  ::umask(0);
  if (!furnish()) return false;
  ::umask(022);
  if (::syscall(SYS_pivot_root, ".", ".") != 0 || ::umount2(".", MNT_DETACH) != 0 ||
      ::chdir("/") != 0) {
    return false;
  }
  const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return root && add_mount_attributes(root.get(), MS_RDONLY | MS_NOSUID).has_value();
}

}  // namespace

Result<void> enter_fuse_room(const SandboxUsers& users) {
  if (!make_root()) return errno_failure("making a root directory for FUSE programs");
  if (auto joined = join_user_namespace(users); !joined) return joined;
  // The copy of the mounts is what belongs to the sandbox: their flags are locked in it.
  if (::unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0) {
    return errno_failure("separating FUSE programs from the host");
  }
  return drop_capabilities(1ULL << CAP_SYS_ADMIN | 1ULL << CAP_DAC_OVERRIDE);
}

}  // namespace sidecall::kernel
