// The host's clock, set with the host's rights.
#pragma once

#include <sys/time.h>
#include <sys/timex.h>

#include <ctime>
#include <optional>

#include "base/result.h"

namespace sidecall::kernel {

// settimeofday(2), with nanoseconds. What is not given stays; the kernel takes a zone that comes
// alone as the one that its clock was kept in until then, the first time.
[[nodiscard]] SysResult<void> set_host_clock(const std::optional<timespec>& time,
                                             const std::optional<struct timezone>& zone);

// clock_adjtime(2) of CLOCK_REALTIME: gives the clock's state (TIME_OK, …) and fills `adjustment`
// with what is in force by now.
[[nodiscard]] SysResult<int> adjust_host_clock(timex& adjustment);

}  // namespace sidecall::kernel
