// The calling thread's own capabilities. By the bare system calls: the C library's wrappers change
// every thread of the process.
#pragma once

#include <linux/capability.h>

#include <array>
#include <cstdint>

namespace sidecall::kernel {

using CapabilityData = std::array<__user_cap_data_struct, 2>;

// Both fail with errno set.
[[nodiscard]] bool read_capabilities(CapabilityData& data);
[[nodiscard]] bool write_capabilities(const CapabilityData& data);

// The same with those in effect that are permitted and of `effective` (bits 1 << CAP_*).
[[nodiscard]] CapabilityData with_effective(CapabilityData data, std::uint64_t effective);

}  // namespace sidecall::kernel
