// From a plugin's answer to what its caller gets.
#pragma once

#include <span>

#include "base/result.h"
#include "base/unique_fd.h"
#include "emulators/program.h"
#include "emulators/remote_call.h"
#include "emulators/verdict.h"
#include "kernel/actor.h"
#include "kernel/target.h"
#include "worker/remote_arguments.h"

namespace sidecall::worker {

// Whether it is a file in memory that nobody can change: what bridges send, and nothing else.
[[nodiscard]] bool is_sealed_memory(int file);

// A descriptor of its own on it that is open for reading alone, as memory to be mapped wants it.
// `proc` is a descriptor on /proc.
[[nodiscard]] SysResult<UniqueFd> open_to_read(int proc, int file);

// Writes the results, and gives the verdict. `file` is an answer's remote::File. An answer that the
// policy does not allow is the rule's errno.
[[nodiscard]] emulators::Outcome outcome_of(kernel::Target& target, const emulators::Remote& rule,
                                            std::span<const Room> rooms,
                                            const emulators::remote::Answer& answer, UniqueFd file);

// The same for a remote::OpenFile, on an actor's thread: with the caller's rights and no other.
[[nodiscard]] emulators::Outcome open_as_caller(kernel::Target& target, kernel::Actor& actor,
                                                std::span<const Room> rooms,
                                                const emulators::remote::Answer& answer);

}  // namespace sidecall::worker
