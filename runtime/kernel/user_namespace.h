// The user namespace of a sandbox.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/id_map.h"

namespace sidecall::kernel {

// Where a sandbox's first process is, seen from our own user namespace.
struct SandboxUsers {
  bool own = false;  // it is our own namespace: the maps are the identity
  IdMaps ids;
  UniqueFd name_space;  // a descriptor on it
};

[[nodiscard]] Result<SandboxUsers> sandbox_users(pid_t first_pid);

// Puts the calling process, which must have one thread, into the sandbox's user namespace as that
// namespace's first user and group, with all capabilities there and none outside: it can then
// do to others no more than the sandbox's own root. Does nothing where `users.own`.
[[nodiscard]] Result<void> join_user_namespace(const SandboxUsers& users);

}  // namespace sidecall::kernel
