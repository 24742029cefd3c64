#include "kernel/abi.h"

#include <gtest/gtest.h>
#include <linux/audit.h>

namespace sidecall::kernel {
namespace {

TEST(Abi, RoundTripsThroughAuditArch) {
  for (const Abi abi : {Abi::kX86_64, Abi::kI386, Abi::kAArch64}) {
    EXPECT_EQ(abi_of_audit_arch(audit_arch(abi)), abi) << abi_name(abi);
  }
  EXPECT_EQ(audit_arch(Abi::kX86_64), AUDIT_ARCH_X86_64);
  EXPECT_EQ(audit_arch(Abi::kI386), AUDIT_ARCH_I386);
  EXPECT_EQ(audit_arch(Abi::kAArch64), AUDIT_ARCH_AARCH64);
}

TEST(Abi, ForeignArchitecturesHaveNone) {
  // One that differs by a flag bit only is as foreign as any other.
  for (const std::uint32_t arch : std::initializer_list<std::uint32_t>{
           0, ~0U, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64, AUDIT_ARCH_MIPS,
           AUDIT_ARCH_X86_64 ^ __AUDIT_ARCH_LE, AUDIT_ARCH_I386 | __AUDIT_ARCH_64BIT}) {
    EXPECT_FALSE(abi_of_audit_arch(arch)) << std::hex << arch;
  }
}

TEST(Abi, NamesAndWidths) {
  EXPECT_EQ(abi_name(Abi::kX86_64), "x86_64");
  EXPECT_EQ(abi_name(Abi::kI386), "i386");
  EXPECT_EQ(abi_name(Abi::kAArch64), "aarch64");
  EXPECT_TRUE(is_32_bit(Abi::kI386));
  EXPECT_FALSE(is_32_bit(Abi::kX86_64));
  EXPECT_FALSE(is_32_bit(Abi::kAArch64));
}

}  // namespace
}  // namespace sidecall::kernel
