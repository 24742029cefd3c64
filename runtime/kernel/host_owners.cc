#include "kernel/host_owners.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "kernel/filesystem_ids.h"
#include "kernel/thread_capabilities.h"

namespace sidecall::kernel {
namespace {

// Filesystems that keep files and nothing else. The last three are not in linux/magic.h.
constexpr std::array<std::uint64_t, 8> kFileKeepers = {
    BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC,     F2FS_SUPER_MAGIC,          OVERLAYFS_SUPER_MAGIC,
    TMPFS_MAGIC,       0x58465342 /* xfs */, 0xca451a4e /* bcachefs */, 0x2fc12fc1 /* zfs */};

SysResult<bool> keeps_files(int file) {
  struct statfs about {};
  if (::fstatfs(file, &about) != 0) return sys_failure(errno);
  const auto type = static_cast<std::uint32_t>(about.f_type);
  return std::find(kFileKeepers.begin(), kFileKeepers.end(), type) != kFileKeepers.end();
}

SysResult<bool> is_device(int file) {
  struct stat about {};
  if (::fstat(file, &about) != 0) return sys_failure(errno);
  return S_ISCHR(about.st_mode) || S_ISBLK(about.st_mode);
}

// The kernel's word for "stays".
constexpr std::uint32_t kStays = ~0U;

SysResult<std::uint32_t> outside(const IdMap& map, std::optional<std::uint32_t> inside) {
  if (!inside) return kStays;
  const auto id = map.outside(*inside);
  if (!id || *id == kStays) return sys_failure(EINVAL);
  return *id;
}

// The thread's groups become this one alone, as far as files are concerned.
SysResult<void> be_in_group(gid_t group) {
  if (::syscall(SYS_setgroups, 0, nullptr) != 0) return sys_failure(errno);
  if (!set_filesystem_group(group)) return sys_failure(errno);
  return {};
}

}  // namespace

SysResult<void> HostOwners::change(int file, const OwnerChange& wanted) const {
  const auto kept = keeps_files(file);
  if (!kept) return tl::unexpected<Errno>(kept.error());
  const auto device = is_device(file);
  if (!device) return tl::unexpected<Errno>(device.error());
  if (!*kept || *device) return sys_failure(EPERM);
  const auto user = outside(ids_.users, wanted.user);
  const auto group = outside(ids_.groups, wanted.group);
  const auto callers = outside(ids_.groups, wanted.caller_group);
  if (!user || !group || !callers) return sys_failure(EINVAL);
  if (auto placed = be_in_group(*callers); !placed) return placed;

  CapabilityData all{};
  if (!read_capabilities(all) || !write_capabilities(with_effective(all, wanted.capabilities))) {
    return sys_failure(errno);
  }
  const int changed = ::fchownat(file, "", *user, *group, AT_EMPTY_PATH);
  const int number = errno;
  // A thread that has less than it believes would refuse what comes next.
  if (!write_capabilities(all)) std::abort();
  if (changed != 0) return sys_failure(number);
  return {};
}

}  // namespace sidecall::kernel
