// Descriptors that a test can tell apart.
#pragma once

#include <sys/mman.h>

#include <filesystem>
#include <string>

#include "base/unique_fd.h"

namespace sidecall::support {

// A descriptor of its own on a nameless file that is called `name`.
[[nodiscard]] inline UniqueFd named_fd(const std::string& name) {
  return UniqueFd(::memfd_create(name.c_str(), MFD_CLOEXEC));
}

// What named_fd() called the file behind `fd`; "none" for a negative one.
[[nodiscard]] inline std::string fd_name(int fd) {
  if (fd < 0) return "none";
  std::error_code error;
  const std::string link =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  const std::string prefix = "/memfd:";
  return link.starts_with(prefix) ? link.substr(prefix.size(), link.find(' ') - prefix.size())
                                  : link;
}

}  // namespace sidecall::support
