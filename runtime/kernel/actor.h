// The seam to acting for a caller: system calls made with its root, directory, ids and umask.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/target.h"

namespace sidecall::kernel {

// Where a path of the caller's starts and who resolves it. Plain data and owned descriptors.
struct CallerView {
  UniqueFd root;
  UniqueFd base;  // the working directory, or what dirfd referred to
  Credentials credentials;
};

// Acts on one thread of the worker. Not shared between threads.
class Actor {
 public:
  Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  // mknodat(2) from the caller's view. The kernel decides with the caller's ids, groups and umask;
  // the one capability lent is CAP_MKNOD, and none of the caller's own is used. So what succeeds is
  // what the caller could have done with CAP_MKNOD, and never more.
  [[nodiscard]] virtual SysResult<void> make_node(const CallerView& view, const std::string& path,
                                                  mode_t mode, dev_t device) = 0;
};

// The real one. Gives the calling thread a filesystem context of its own (CLONE_FS) and keeps
// setfsuid(2) from touching its capabilities; the thread must then serve nothing else.
[[nodiscard]] Result<std::unique_ptr<Actor>> become_actor();

}  // namespace sidecall::kernel
