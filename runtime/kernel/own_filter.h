// The seccomp filters that sidecall's own processes put on themselves.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace sidecall::kernel {

enum class Duty : std::uint8_t {
  kServing,   // a sandbox: worker and helper
  kHolding,   // descriptors, and handing them over an accepted connection; on one thread
  kCarrying,  // messages between descriptors that it is given: it opens and connects nothing
};

// Leaves the calling process, which has one thread, and the threads that it starts, only the system
// calls that its duty takes; which of those have an effect is a matter of capabilities.
// Another one fails with ENOSYS, as on a kernel without it; one that nothing but a process in
// somebody else's hands would make, as execve(2), kills the process. Needs no_new_privs.
//
// The list of kServing is one for all, so that the kernel's own table answers for it (seccomp's
// action cache): no instruction of the filter is run for a call that depends on no argument.
[[nodiscard]] Result<void> filter_own_calls(Duty duty);

// For a process that is about to become a filesystem's program: what such a program never does, and
// the container's own filter might not allow, fails with EPERM. Needs no_new_privs.
[[nodiscard]] Result<void> filter_program_calls();

}  // namespace sidecall::kernel
