// What a remote call's arguments point to: copied for the plugin, and written with its answer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "emulators/remote_call.h"
#include "kernel/abi.h"
#include "kernel/target.h"

namespace sidecall::worker {

// Where an answer may write: an argument's memory, as the caller named it when it made the call.
struct Room {
  struct Piece {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
  };
  std::uint8_t index = 0;
  std::vector<Piece> pieces;
};

struct Copied {
  std::vector<emulators::remote::Buffer> buffers;
  std::vector<Room> rooms;
};

// Each byte is read once. Fails with the kernel's errno: EFAULT, ENAMETOOLONG, EINVAL.
[[nodiscard]] SysResult<Copied> copy_arguments(kernel::Target& target, kernel::Abi abi,
                                               const std::array<std::uint64_t, 6>& args,
                                               const emulators::remote::CallShape& shape);

// EFAULT where an argument is none that may be written, has not the room, or is not the caller's to
// write.
[[nodiscard]] SysResult<void> write_results(kernel::Target& target, std::span<const Room> rooms,
                                            std::span<const emulators::remote::Write> writes);

[[nodiscard]] SysResult<emulators::remote::Caller> caller_of(kernel::Target& target);

}  // namespace sidecall::worker
