// System calls by name, as libseccomp knows them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernel/abi.h"

namespace sidecall::policy {

// Known on any architecture at all.
[[nodiscard]] bool is_syscall(const std::string& name);
// ` (did you mean "mknod"?)` or "".
[[nodiscard]] std::string syscall_suggestion(const std::string& name);

// The ABIs that programs of this host can use and sidecall decodes.
[[nodiscard]] std::span<const kernel::Abi> host_abis();
// Empty where the ABI has no call of this name.
[[nodiscard]] std::optional<std::int32_t> syscall_number(kernel::Abi abi, const std::string& name);
// "socketcall" or "ipc" where i386 programs also reach the call through that; else "".
[[nodiscard]] std::string multiplexer_on_i386(const std::string& name);

}  // namespace sidecall::policy
