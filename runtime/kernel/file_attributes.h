// Extended attributes of files: xattr(7).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sidecall::kernel {

// The seam to them. A file is given by a descriptor on it, which may be one of O_PATH and on a
// symbolic link: the link is meant then. Values and lists have at most 64 KiB (XATTR_SIZE_MAX and
// XATTR_LIST_MAX of linux/limits.h).
class FileAttributes {
 public:
  FileAttributes() = default;
  FileAttributes(const FileAttributes&) = delete;
  FileAttributes& operator=(const FileAttributes&) = delete;
  virtual ~FileAttributes() = default;

  // `flags`: XATTR_CREATE, XATTR_REPLACE.
  [[nodiscard]] virtual SysResult<void> set(int file, const std::string& name,
                                            std::string_view value, int flags) = 0;
  [[nodiscard]] virtual SysResult<void> remove(int file, const std::string& name) = 0;
  [[nodiscard]] virtual SysResult<std::string> get(int file, const std::string& name) = 0;
  // The names, each with a NUL at its end.
  [[nodiscard]] virtual SysResult<std::string> list(int file) = 0;
};

// The real ones, by system calls of the calling thread, which must have a working directory of its
// own: that changes.
class KernelFileAttributes final : public FileAttributes {
 public:
  // `proc`: a descriptor on /proc; stays the caller's.
  explicit KernelFileAttributes(int proc) : proc_(proc) {}

  [[nodiscard]] SysResult<void> set(int file, const std::string& name, std::string_view value,
                                    int flags) override;
  [[nodiscard]] SysResult<void> remove(int file, const std::string& name) override;
  [[nodiscard]] SysResult<std::string> get(int file, const std::string& name) override;
  [[nodiscard]] SysResult<std::string> list(int file) override;

 private:
  int proc_;
};

}  // namespace sidecall::kernel
