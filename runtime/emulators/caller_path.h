// A path argument, copied, and from where its caller would have walked it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernel/actor.h"
#include "kernel/target.h"

namespace sidecall::emulators {

struct CallerPath {
  std::string text;
  kernel::CallerView view;
};

// A path below /proc/self or /proc/thread-self rewritten to the caller's own numbers there: it is
// another thread that will walk it. Any other path as it is.
[[nodiscard]] std::string with_own_numbers(kernel::Target& target, std::string path,
                                           const kernel::Credentials& credentials);

// Completes the view of a path that has been read. `dirfd` is as openat(2) takes it. EBADF where
// the path is relative and the caller has no such descriptor. The path is taken with_own_numbers().
[[nodiscard]] SysResult<CallerPath> caller_path(kernel::Target& target, std::string text, int dirfd,
                                                kernel::Credentials credentials);

// The directory and the last component of a path, for calls that make or remove a name. The
// directory ends in "/.": it is walked through, as the kernel does, and not merely named. The name
// keeps its trailing slashes.
struct SplitPath {
  std::string directory;
  std::string name;
};
[[nodiscard]] SplitPath split_path(std::string_view path);

}  // namespace sidecall::emulators
