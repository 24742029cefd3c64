// Option "callers" of the emulators that make and remove mounts, and the view of who may.
#pragma once

#include <optional>

#include "base/result.h"
#include "emulators/caller_path.h"
#include "emulators/emulator.h"
#include "emulators/table.h"

namespace sidecall::emulators {

// Who is served.
struct MountCallers {
  bool root = false;  // "root": also user 0 of the sandbox without CAP_SYS_ADMIN

  [[nodiscard]] static Result<MountCallers> parse(const Options& options);
};

inline constexpr OptionSpec kMountCallersOption{
    "callers", OptionType::kString, false,
    "who is served: \"capable\", who holds CAP_SYS_ADMIN in the sandbox's user namespace, or "
    "\"root\", also its user 0 without; default: capable"};

// How a caller stands to mounts.
enum class MountRight : std::uint8_t {
  kNone,  // the kernel's verdict stands
  kOwn,   // it holds CAP_SYS_ADMIN
  kLent,  // it is to be lent that
};

// Of a caller in a sandbox with a user namespace of its own.
[[nodiscard]] SysResult<MountRight> mount_right(const MountCallers& callers,
                                                const kernel::Credentials& credentials,
                                                Environment& environment);

// The view of a path that is to be mounted on, with the namespaces entered that a new filesystem
// looks at, and CAP_SYS_ADMIN there where it is lent.
[[nodiscard]] SysResult<CallerPath> mount_path(kernel::Target& target, std::string text,
                                               kernel::Credentials credentials, MountRight right,
                                               OwnLinks links);

}  // namespace sidecall::emulators
