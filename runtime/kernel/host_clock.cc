#include "kernel/host_clock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace sidecall::kernel {

SysResult<void> set_host_clock(const std::optional<timespec>& time,
                               const std::optional<struct timezone>& zone) {
  timeval rounded{};
  if (time) rounded = {.tv_sec = time->tv_sec, .tv_usec = time->tv_nsec / 1000};
  // Only settimeofday(2) knows zones, and it knows microseconds only. By the bare system call: the
  // C library takes no time together with a zone.
  const bool set = zone ? ::syscall(SYS_settimeofday, time ? &rounded : nullptr, &*zone) == 0
                        : !time || ::clock_settime(CLOCK_REALTIME, &*time) == 0;
  if (!set) return sys_failure(errno);
  return {};
}

SysResult<int> adjust_host_clock(timex& adjustment) {
  const int state = ::clock_adjtime(CLOCK_REALTIME, &adjustment);
  if (state < 0) return sys_failure(errno);
  return state;
}

}  // namespace sidecall::kernel
