#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "grid/mknod.h"

namespace sidecall::grid {

Grid grid() {
  return {.name = "mknod",
          .policy = R"({"rules": [{"emulate": "mknod",
                       "options": {"devices": ["c 1:3", "c 5:*", "b 7:0"]}}]})",
          .themes = {{"paths", mknod_paths()},
                     {"bad paths", mknod_path_errors()},
                     {"paths through proc", mknod_proc()},
                     {"types", mknod_types()},
                     {"credentials", mknod_credentials()},
                     {"threads", mknod_threads()},
                     {"memory", mknod_memory()}}};
}

unsigned long encoded(Device device) {
  return (device.minor_number & 0xffU) | (device.major_number << 8U) |
         ((device.minor_number & ~0xffU) << 12U);
}

long make_node(const std::string& path, mode_t mode, Device device) {
  return make_node_raw(path.c_str(), mode, encoded(device));
}

long make_node_at(int dirfd, const std::string& path, mode_t mode, Device device) {
  return ::syscall(SYS_mknodat, dirfd, path.c_str(), mode, encoded(device));
}

long make_node_raw(const char* path, unsigned long mode, unsigned long device) {
  return ::syscall(SYS_mknod, path, mode, device);
}

bool is_node(const std::string& path, mode_t type, Device device) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == type &&
         status.st_rdev == ::makedev(device.major_number, device.minor_number);
}

}  // namespace sidecall::grid
