// What the cases of mount(2) and umount2(2) have in common.
#pragma once

#include <sys/mount.h>

#include <cstdint>
#include <span>
#include <string>

#include "grid/case.h"

namespace sidecall::grid {

// As statfs(2) names them: linux/magic.h.
inline constexpr std::uint64_t kTmpfs = 0x01021994;
inline constexpr std::uint64_t kProc = 0x9fa0;
inline constexpr std::uint64_t kOverlay = 0x794c7630;
inline constexpr std::uint64_t kDevpts = 0x1cd1;
inline constexpr std::uint64_t kExt4 = 0xef53;

struct Mount {
  std::string target;
  const char* type = "tmpfs";
  std::uint64_t flags = 0;
  const char* data = nullptr;
  const char* source = "none";
};

// The bare system calls.
long mount_it(const Mount& mount);
long mount_raw(const void* source, const void* target, const void* type, std::uint64_t flags,
               const void* data);
long unmount(const std::string& target, int flags = 0);

// Whether `path` is in a filesystem of this kind.
[[nodiscard]] bool is_in(const std::string& path, std::uint64_t kind);
// The per-mount flags that statfs(2) shows, or ~0.
[[nodiscard]] std::uint64_t mount_flags(const std::string& path);

// Whether the case is not in a user namespace of its own.
[[nodiscard]] bool is_native(const Checks& check);
// Root as engines leave it: in a container without CAP_SYS_ADMIN. Natively that is what root needs.
void as_engines_leave_it(const Checks& check);
// A mount namespace of the case's own with the directory "place", and then root as above.
void prepare_place(const Checks& check);

// The block device with an ext4 filesystem that the policy lists: Grid::wants_image.
[[nodiscard]] std::string image(const Checks& check);

[[nodiscard]] std::span<const Case> mount_types();
[[nodiscard]] std::span<const Case> mount_devices();
[[nodiscard]] std::span<const Case> mount_flag_bits();
[[nodiscard]] std::span<const Case> mount_paths();
[[nodiscard]] std::span<const Case> mount_callers();
[[nodiscard]] std::span<const Case> mount_memory();
[[nodiscard]] std::span<const Case> mount_neighbours();
[[nodiscard]] std::span<const Case> umount_cases();

}  // namespace sidecall::grid
