// A descriptor of our own by a name, for system calls that take no descriptor of O_PATH.
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string>

#include "base/result.h"

namespace sidecall::kernel {

// A path that leads to what `file` refers to and to nothing else. It is relative to /proc, of which
// `proc` is a descriptor: that becomes the calling thread's working directory.
[[nodiscard]] inline SysResult<std::string> own_path(int proc, int file) {
  if (::fchdir(proc) != 0) return sys_failure(errno);
  return "thread-self/fd/" + std::to_string(file);
}

// What the kernel calls the file, as seen from the calling thread's root: a path, where it has one.
// `proc` is a descriptor of /proc. By the process, whose threads share their descriptors, because
// that is the shorter way.
[[nodiscard]] inline SysResult<std::string> own_name(int proc, int file) {
  std::array<char, PATH_MAX> name;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
  const std::string link = "self/fd/" + std::to_string(file);
  const ssize_t size = ::readlinkat(proc, link.c_str(), name.data(), name.size());
  if (size < 0) return sys_failure(errno);
  return std::string(name.data(), static_cast<std::size_t>(size));
}

}  // namespace sidecall::kernel
