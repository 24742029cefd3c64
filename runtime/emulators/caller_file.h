// The file that a call is about, by a path or by a descriptor.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <optional>

#include "base/function_ref.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "emulators/caller_path.h"
#include "kernel/actor.h"
#include "kernel/target.h"

namespace sidecall::emulators {

// How a call names its file. Without an address of a path it is `descriptor`'s own.
struct FileName {
  std::optional<std::uint64_t> path_address;
  int descriptor = AT_FDCWD;  // as openat(2) takes it, where there is a path
  bool follow = true;         // a symbolic link at the path's end
  bool empty_path = false;    // AT_EMPTY_PATH: an empty path is the descriptor's file too
};

class CallerFile {
 public:
  // Copies what the name consists of. The errors are the kernel's: EFAULT, ENAMETOOLONG, ENOENT,
  // EBADF.
  [[nodiscard]] static SysResult<CallerFile> find(kernel::Target& target, const FileName& name,
                                                  kernel::Credentials credentials);

  // Resolves the name as the caller, if that is not done, and runs `act` so with a descriptor of
  // O_PATH on the file.
  using Act = FunctionRef<SysResult<void>(kernel::CallerFiles&, int file)>;
  [[nodiscard]] SysResult<void> as_caller(kernel::Actor& actor, Act act);

  // Whether there was a file to act on: an error is otherwise the path's.
  [[nodiscard]] bool is_resolved() const { return static_cast<bool>(file_); }
  // The descriptor, for a step of the helper's.
  [[nodiscard]] UniqueFd take() { return std::move(file_); }
  [[nodiscard]] const kernel::Credentials& credentials() const { return path_.view.credentials; }

 private:
  CallerFile(CallerPath path, UniqueFd file, int flags)
      : path_(std::move(path)), file_(std::move(file)), flags_(flags) {}

  CallerPath path_;
  UniqueFd file_;
  int flags_;  // O_NOFOLLOW
};

}  // namespace sidecall::emulators
