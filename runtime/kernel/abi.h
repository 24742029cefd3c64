// The system-call ABIs whose calls sidecall decodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sidecall::kernel {

// A notification is told apart by (arch, nr): the same number is another call on another ABI.
enum class Abi : std::uint8_t { kX86_64, kI386, kAArch64 };

// AUDIT_ARCH_* of linux/audit.h, as seccomp_data.arch carries it.
[[nodiscard]] std::optional<Abi> abi_of_audit_arch(std::uint32_t arch);
[[nodiscard]] std::uint32_t audit_arch(Abi abi);

// "x86_64", "i386", "aarch64".
[[nodiscard]] std::string_view abi_name(Abi abi);

// Whether longs and pointers of the ABI have 4 bytes.
[[nodiscard]] constexpr bool is_32_bit(Abi abi) {
  return abi == Abi::kI386;
}

}  // namespace sidecall::kernel
