// What a system call that gives 0 or fails comes to.
#pragma once

#include <cerrno>

#include "base/result.h"

namespace sidecall::kernel {

// To be asked before errno can change.
[[nodiscard]] inline SysResult<void> sys_done(long result) {
  if (result != 0) return sys_failure(errno);
  return {};
}

}  // namespace sidecall::kernel
