// Where the FUSE programs of a sandbox run.
//
// A room is a root directory with the host's programs and libraries in it, read-only, a few devices
// and nothing else. It has network, IPC and mounts of its own, and all of it belongs to the
// sandbox's user namespace: who breaks out of a program in it is root of the sandbox and nobody
// outside, sees no file of the host but what is installed, and no process.
#pragma once

#include "base/result.h"
#include "kernel/user_namespace.h"

namespace sidecall::kernel {

// Moves the calling process, which must have one thread and the host's rights, into a new room, as
// the first user of the sandbox's user namespace, with the capabilities there that
// start_fuse_program() takes and no other. For sandboxes with a user namespace of their own.
[[nodiscard]] Result<void> enter_fuse_room(const SandboxUsers& users);

}  // namespace sidecall::kernel
