// The ABI that the tests themselves are built for.
#pragma once

#include "kernel/abi.h"

namespace sidecall::support {

#if defined(__x86_64__)
inline constexpr kernel::Abi kNativeAbi = kernel::Abi::kX86_64;
#elif defined(__aarch64__)
inline constexpr kernel::Abi kNativeAbi = kernel::Abi::kAArch64;
#endif

}  // namespace sidecall::support
