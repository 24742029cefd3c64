// Which of a target's memory it may itself write.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace sidecall::kernel {

// Whether every byte of [address, address + length) is mapped writable in the address space that
// `maps`, a descriptor on /proc/TID/maps, belongs to. Writing through /proc/TID/mem ignores page
// protection, so this decides first. EFAULT where not. Asks by PROCMAP_QUERY (kernel >= 6.11), else
// reads the list.
[[nodiscard]] SysResult<void> check_writable(int maps, std::uint64_t address, std::size_t length);

// The same on the text of /proc/TID/maps.
[[nodiscard]] SysResult<void> check_writable_in(std::string_view maps_text, std::uint64_t address,
                                                std::size_t length);

}  // namespace sidecall::kernel
