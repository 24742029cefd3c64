// The seccomp filter that workers and helpers put on themselves.
#pragma once

#include "base/result.h"

namespace sidecall::kernel {

// Leaves the calling process, which has one thread, and the threads that it starts, only the system
// calls that serving a sandbox takes; which of those have an effect is a matter of capabilities.
// Another one fails with ENOSYS, as on a kernel without it; one that nothing but a process in
// somebody else's hands would make, as execve(2), kills the process. Needs no_new_privs.
//
// The list is one for all, so that the kernel's own table answers for it (seccomp's action cache):
// no instruction of the filter is run for a call that depends on no argument.
[[nodiscard]] Result<void> filter_own_calls();

// The same for a process that carries messages between descriptors that it is given: it opens and
// connects nothing.
[[nodiscard]] Result<void> filter_carrier_calls();

}  // namespace sidecall::kernel
