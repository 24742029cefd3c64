// The ids by which the calling thread owns and reaches files: setfsuid(2), setfsgid(2).
#pragma once

#include <sys/types.h>

namespace sidecall::kernel {

// By the bare system calls, for the calling thread alone. False, with EPERM in errno, where the
// thread cannot have the id.
[[nodiscard]] bool set_filesystem_user(uid_t user);
[[nodiscard]] bool set_filesystem_group(gid_t group);

}  // namespace sidecall::kernel
