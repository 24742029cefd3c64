// The seam to acting as a caller: a thread that takes on what the kernel would judge the caller by.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/caller_files.h"
#include "kernel/target.h"

namespace sidecall::kernel {

// Where a path of the caller's starts and who resolves it. Plain data and owned descriptors.
struct CallerView {
  UniqueFd root;
  UniqueFd base;  // the working directory, or what dirfd referred to
  Credentials credentials;
  // Entered first, for calls that make mounts; an actor stays in them. The others are what a new
  // filesystem looks at: where they are not the sandbox's own they cannot be entered, and the
  // kernel then refuses a filesystem that would show them.
  UniqueFd mount_namespace{};
  std::vector<UniqueFd> other_namespaces{};
  // Capabilities in the sandbox's user namespace, bits 1 << CAP_*, that are used beside the
  // caller's own.
  std::uint64_t lent = 0;
};

// Acts on one thread of the worker. Not shared between threads.
class Actor {
 public:
  using Act = FunctionRef<SysResult<void>(CallerFiles&)>;

  Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  // Runs `act` with the caller's root, directory, ids, groups and umask, and of its capabilities
  // with those that the worker holds itself: in a user namespace of the sandbox's own, where the
  // worker lives, all that concern files. Gives what `act` gives, or why the view was not entered.
  [[nodiscard]] virtual SysResult<void> as_caller(const CallerView& view, Act act) = 0;

  // Detached, a mount that the helper has made in the workshop (kernel/workshop.h).
  [[nodiscard]] virtual SysResult<UniqueFd> take_aside(const std::string& path) = 0;
};

// The real one. Gives the calling thread a filesystem context of its own (CLONE_FS) and keeps
// setfsuid(2) from touching its capabilities; the thread must then serve nothing else.
// `proc` is a descriptor on /proc.
[[nodiscard]] Result<std::unique_ptr<Actor>> become_actor(int proc);

// Capabilities, bits 1 << CAP_*, that a worker needs to become_actor() and to have those of a
// caller's that the kernel asks for where files are concerned.
[[nodiscard]] std::uint64_t actor_capabilities();

}  // namespace sidecall::kernel
