// What the cases of mknod(2) have in common.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <span>
#include <string>

#include "grid/case.h"

namespace sidecall::grid {

inline constexpr mode_t kCharacter = S_IFCHR | 0644;

struct Device {
  unsigned major_number = 0;
  unsigned minor_number = 0;
};
// On the policy's list as a character device.
inline constexpr Device kNull{1, 3};

// As the kernel takes it in a register: new_encode_dev() of linux/kdev_t.h.
[[nodiscard]] unsigned long encoded(Device device);

// The bare system calls.
long make_node(const std::string& path, mode_t mode = kCharacter, Device device = kNull);
long make_node_at(int dirfd, const std::string& path, mode_t mode = kCharacter,
                  Device device = kNull);
long make_node_raw(const char* path, unsigned long mode, unsigned long device);

// Whether `path` itself is a node of this type and device.
[[nodiscard]] bool is_node(const std::string& path, mode_t type = S_IFCHR, Device device = kNull);

[[nodiscard]] std::span<const Case> mknod_paths();
[[nodiscard]] std::span<const Case> mknod_path_errors();
[[nodiscard]] std::span<const Case> mknod_proc();
[[nodiscard]] std::span<const Case> mknod_types();
[[nodiscard]] std::span<const Case> mknod_credentials();
[[nodiscard]] std::span<const Case> mknod_threads();
[[nodiscard]] std::span<const Case> mknod_memory();

}  // namespace sidecall::grid
