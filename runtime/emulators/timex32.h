// struct timex of 32-bit callers: struct old_timex32 of kernel/time/time.c.
#pragma once

#include <sys/timex.h>

#include <array>
#include <cstdint>

namespace sidecall::emulators {

struct Timex32 {
  std::uint32_t modes;
  std::int32_t offset, freq, maxerror, esterror, status, constant, precision, tolerance;
  std::int32_t seconds, microseconds;
  std::int32_t tick, ppsfreq, jitter, shift, stabil, jitcnt, calcnt, errcnt, stbcnt, tai;
  std::array<std::int32_t, 11> unused;
};
static_assert(sizeof(Timex32) == 128);
static_assert(sizeof(timex) == 208);  // struct __kernel_timex, of every other call

// As the kernel converts them: `tai` is not taken from a caller, numbers are cut to 32 bits and
// what is unused is zeroed on the way back.
[[nodiscard]] timex widen(const Timex32& narrow);
[[nodiscard]] Timex32 narrow(const timex& wide);

}  // namespace sidecall::emulators
