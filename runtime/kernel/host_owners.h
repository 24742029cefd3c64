// Changes of owner, made with the host's rights.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "kernel/id_map.h"

namespace sidecall::kernel {

// Ids are those of the sandbox. An id that is not given stays.
struct OwnerChange {
  std::optional<uid_t> user;
  std::optional<gid_t> group;
  // The caller's own capabilities, bits 1 << CAP_*, and its group: by CAP_FOWNER the kernel decides
  // whether set-ID bits may go, by CAP_FSETID and the group whether all of them have to.
  std::uint64_t capabilities = 0;
  gid_t caller_group = 0;
};

class HostOwners {
 public:
  // `ids` outlives it.
  explicit HostOwners(const IdMaps& ids) : ids_(ids) {}

  // chown(2) of what `file`, which may be of O_PATH, refers to, with no capability that the caller
  // has not. EPERM for device nodes, and for all on filesystems that are not there to keep
  // files: an owner of what is in sysfs or in a cgroup has rights over the host. EINVAL for ids
  // that the sandbox has not.
  [[nodiscard]] SysResult<void> change(int file, const OwnerChange& wanted) const;

 private:
  const IdMaps& ids_;
};

}  // namespace sidecall::kernel
