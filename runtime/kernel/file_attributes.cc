#include "kernel/file_attributes.h"

#include <linux/limits.h>
#include <sys/xattr.h>

#include <cerrno>

#include "kernel/own_path.h"
#include "kernel/sys_done.h"

namespace sidecall::kernel {
namespace {

SysResult<std::string> filled(std::string buffer, ssize_t size) {
  if (size < 0) return sys_failure(errno);
  buffer.resize(static_cast<std::size_t>(size));
  return buffer;
}

}  // namespace

SysResult<void> KernelFileAttributes::set(int file, const std::string& name, std::string_view value,
                                          int flags) {
  auto path = own_path(proc_, file);
  if (!path) return tl::unexpected<Errno>(path.error());
  return sys_done(::setxattr(path->c_str(), name.c_str(), value.data(), value.size(), flags));
}

SysResult<void> KernelFileAttributes::remove(int file, const std::string& name) {
  auto path = own_path(proc_, file);
  if (!path) return tl::unexpected<Errno>(path.error());
  return sys_done(::removexattr(path->c_str(), name.c_str()));
}

SysResult<std::string> KernelFileAttributes::get(int file, const std::string& name) {
  auto path = own_path(proc_, file);
  if (!path) return path;
  std::string value(XATTR_SIZE_MAX, '\0');
  const ssize_t size = ::getxattr(path->c_str(), name.c_str(), value.data(), value.size());
  return filled(std::move(value), size);
}

SysResult<std::string> KernelFileAttributes::list(int file) {
  auto path = own_path(proc_, file);
  if (!path) return path;
  std::string names(XATTR_LIST_MAX, '\0');
  const ssize_t size = ::listxattr(path->c_str(), names.data(), names.size());
  return filled(std::move(names), size);
}

}  // namespace sidecall::kernel
