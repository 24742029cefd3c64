// A descriptor of our own by a name, for system calls that take no descriptor of O_PATH.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/result.h"

namespace sidecall::kernel {

// A path that leads to what `file` refers to and to nothing else. It is relative to /proc, of which
// `proc` is a descriptor: that becomes the calling thread's working directory.
[[nodiscard]] inline SysResult<std::string> own_path(int proc, int file) {
  if (::fchdir(proc) != 0) return sys_failure(errno);
  return "thread-self/fd/" + std::to_string(file);
}

}  // namespace sidecall::kernel
