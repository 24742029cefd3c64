#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "grid/caller.h"
#include "grid/mount.h"

namespace sidecall::grid {

Grid grid() {
  return {.name = "mount",
          .policy = R"({"rules": [
                       {"emulate": "mount", "options": {
                        "filesystems": ["tmpfs: size,mode,uid,gid", "overlay: *", "proc", "devpts: mode",
                                        "ext4: errors,noload", "squashfs"],
                        "devices": ["b 7:*"], "callers": "root"}},
                       {"emulate": "umount", "options": {"callers": "root"}}]})",
          .themes = {{"types", mount_types()},
                     {"devices", mount_devices()},
                     {"flags", mount_flag_bits()},
                     {"paths", mount_paths()},
                     {"callers", mount_callers()},
                     {"memory", mount_memory()},
                     {"neighbours", mount_neighbours()},
                     {"umount", umount_cases()}},
          .wants_image = true};
}

long mount_it(const Mount& mount) {
  return mount_raw(mount.source, mount.target.c_str(), mount.type, mount.flags, mount.data);
}

long mount_raw(const void* source, const void* target, const void* type, std::uint64_t flags,
               const void* data) {
  return ::syscall(SYS_mount, source, target, type, static_cast<unsigned long>(flags), data);
}

long unmount(const std::string& target, int flags) {
  return ::syscall(SYS_umount2, target.c_str(), flags);
}

bool is_in(const std::string& path, std::uint64_t kind) {
  struct statfs about {};
  return ::statfs(path.c_str(), &about) == 0 && static_cast<std::uint64_t>(about.f_type) == kind;
}

std::uint64_t mount_flags(const std::string& path) {
  constexpr std::uint64_t kValid = 0x20;  // ST_VALID: always there
  struct statfs about {};
  if (::statfs(path.c_str(), &about) != 0) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(about.f_flags) & ~kValid;
}

bool is_native(const Checks& check) {
  constexpr std::uint64_t kAllIds = 4294967295;
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  check.arrange("reading uid_map", static_cast<bool>(map >> inside >> outside >> count));
  return count == kAllIds;
}

void as_engines_leave_it(const Checks& check) {
  if (!is_native(check)) drop_capability(check, CAP_SYS_ADMIN);
}

void prepare_place(const Checks& check) {
  own_mounts(check);
  make_directory(check, "place");
  as_engines_leave_it(check);
}

std::string image(const Checks& check) {
  const std::string& scratch = check.scratch();
  std::string path = scratch.substr(0, scratch.rfind('/')) + "/image";
  if (!exists(path)) check.skip("no loop device, or no mkfs.ext4");
  return path;
}

}  // namespace sidecall::grid
