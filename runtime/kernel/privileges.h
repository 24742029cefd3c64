// Giving up what a process does not need.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "kernel/own_filter.h"

namespace sidecall::kernel {

// For a process with one thread: keeps of its capabilities only `keep` (bits 1 << CAP_*), in all
// sets and for good; sets no_new_privs and SECBIT_NO_SETUID_FIXUP; makes itself undumpable, so that
// nothing may trace it or read its memory.
// Capabilities that the process lacks are left out in silence: the call that needs one says so.
[[nodiscard]] Result<void> drop_capabilities(std::uint64_t keep);

// The same for one that a hostile sandbox may reach: it leaves itself, besides, only the system
// calls of its duty.
[[nodiscard]] Result<void> drop_privileges(std::uint64_t keep, Duty duty);

// Bounds the memory of the calling process, and of those that it will start: RLIMIT_DATA, once for
// all. Threads that it starts from now on have stacks to match.
[[nodiscard]] Result<void> limit_own_memory(std::uint64_t bytes);

// Has `bits` of the calling thread's capabilities survive execve(2), whoever its user is: they are
// then ambient (capabilities(7)). Whether that was possible.
[[nodiscard]] bool keep_over_exec(std::uint64_t bits);

// "cap_mknod,cap_sys_ptrace" for bits; "none" for 0.
[[nodiscard]] std::string capability_names(std::uint64_t bits);

// For a process that reads nothing but the descriptors that it has: user and group nobody, no
// capability, no_new_privs, not dumpable, and a seccomp filter under which it can open, connect and
// start nothing. The process must have one thread.
[[nodiscard]] Result<void> become_nobody();

}  // namespace sidecall::kernel
