#include "kernel/abi.h"

#include <linux/audit.h>

namespace sidecall::kernel {

std::optional<Abi> abi_of_audit_arch(std::uint32_t arch) {
  switch (arch) {
    case AUDIT_ARCH_X86_64:
      return Abi::kX86_64;
    case AUDIT_ARCH_I386:
      return Abi::kI386;
    case AUDIT_ARCH_AARCH64:
      return Abi::kAArch64;
    default:
      return std::nullopt;
  }
}

std::uint32_t audit_arch(Abi abi) {
  switch (abi) {
    case Abi::kX86_64:
      return AUDIT_ARCH_X86_64;
    case Abi::kI386:
      return AUDIT_ARCH_I386;
    case Abi::kAArch64:
      return AUDIT_ARCH_AARCH64;
  }
  return 0;
}

std::string_view abi_name(Abi abi) {
  switch (abi) {
    case Abi::kX86_64:
      return "x86_64";
    case Abi::kI386:
      return "i386";
    case Abi::kAArch64:
      return "aarch64";
  }
  return "?";
}

}  // namespace sidecall::kernel
