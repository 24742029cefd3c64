// The two ends of a call of mount(2): what is mounted, and the place it is mounted on.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "emulators/caller_path.h"
#include "emulators/emulator.h"

namespace sidecall::emulators {

struct MountEnds {
  UniqueFd place;
  UniqueFd source;
};

// Both found as the caller. EINVAL without a source, as the kernel says of a device's filesystem.
[[nodiscard]] SysResult<MountEnds> find_mount_ends(const kernel::MountArguments& wanted,
                                                   const CallerPath& path,
                                                   Environment& environment);
// The place alone, where the source is no file.
[[nodiscard]] SysResult<UniqueFd> find_mount_place(const kernel::MountArguments& wanted,
                                                   const CallerPath& path,
                                                   Environment& environment);

// The kernel's errno for what cannot be mounted on; 0 where it can. `device`: of the filesystem.
[[nodiscard]] int refusal_of_place(int place, dev_t device);

// Attaches a detached mount as the caller, and remembers it.
[[nodiscard]] Outcome attach_at(const UniqueFd& place, const UniqueFd& mount, dev_t device,
                                const CallerPath& path, Environment& environment);

}  // namespace sidecall::emulators
