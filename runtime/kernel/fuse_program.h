// A filesystem that a program serves by FUSE, below an init of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::kernel {

struct FuseMount {
  // The program, by its path or a name that is looked for in the usual directories, and arguments
  // of its own. It is called as mount(8)'s helpers are, "PROGRAM SOURCE PLACE -o OPTIONS", goes to
  // the background once it has mounted, as all that use libfuse do, and ends when that is
  // unmounted.
  std::vector<std::string> command;
  std::string options;      // the caller's
  unsigned long flags = 0;  // MS_* that fuse_flags_are_known()
  int source = -1;          // a detached mount of the file or device; stays the caller's
};

// Whether each bit has a meaning for a FUSE filesystem.
[[nodiscard]] bool fuse_flags_are_known(unsigned long flags);

// The seam to starting it. In a process that is the first one of a pid namespace.
class FusePrograms {
 public:
  FusePrograms() = default;
  FusePrograms(const FusePrograms&) = delete;
  FusePrograms& operator=(const FusePrograms&) = delete;
  virtual ~FusePrograms() = default;

  // A detached mount of it, once the program serves it. EINVAL where the program refuses, ENODEV
  // where there is none of that name, ETIMEDOUT where it does not come up in time, EBUSY where the
  // source is another one's.
  [[nodiscard]] virtual SysResult<UniqueFd> start(const FuseMount& wanted) = 0;
};

// The real one: in a room (kernel/fuse_room.h), in a mount namespace of the process's own. What the
// program says when it refuses goes to stderr, one bounded line, if `tells`.
class KernelFusePrograms final : public FusePrograms {
 public:
  explicit KernelFusePrograms(bool tells) : tells_(tells) {}
  [[nodiscard]] SysResult<UniqueFd> start(const FuseMount& wanted) override;

 private:
  bool tells_;
  UniqueFd claim_;  // a lock on an image file, for as long as this lives
  UniqueFd words_;  // what the program says, open for as long as it may write there
};

// Forks a child that is the first process of a new pid namespace and has mounts of its own; all
// other processes there end with it. As fork(2); the calling process must have one thread.
[[nodiscard]] int fork_first_process();

// Of that child: waits until no other process is left in its pid namespace, or, where the sandbox
// whose first process `sandbox` is a pidfd of has ended, as long as a program may take to write out
// what it has. Never returns.
[[noreturn]] void outlast_programs(int sandbox);

}  // namespace sidecall::kernel
