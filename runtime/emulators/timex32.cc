#include "emulators/timex32.h"

namespace sidecall::emulators {
namespace {

std::int32_t cut(std::int64_t number) {
  return static_cast<std::int32_t>(number);
}

}  // namespace

timex widen(const Timex32& narrow) {
  timex wide{};
  wide.modes = narrow.modes;
  wide.offset = narrow.offset;
  wide.freq = narrow.freq;
  wide.maxerror = narrow.maxerror;
  wide.esterror = narrow.esterror;
  wide.status = narrow.status;
  wide.constant = narrow.constant;
  wide.precision = narrow.precision;
  wide.tolerance = narrow.tolerance;
  wide.time.tv_sec = narrow.seconds;
  wide.time.tv_usec = narrow.microseconds;
  wide.tick = narrow.tick;
  wide.ppsfreq = narrow.ppsfreq;
  wide.jitter = narrow.jitter;
  wide.shift = narrow.shift;
  wide.stabil = narrow.stabil;
  wide.jitcnt = narrow.jitcnt;
  wide.calcnt = narrow.calcnt;
  wide.errcnt = narrow.errcnt;
  wide.stbcnt = narrow.stbcnt;
  return wide;
}

Timex32 narrow(const timex& wide) {
  return Timex32{.modes = wide.modes,
                 .offset = cut(wide.offset),
                 .freq = cut(wide.freq),
                 .maxerror = cut(wide.maxerror),
                 .esterror = cut(wide.esterror),
                 .status = wide.status,
                 .constant = cut(wide.constant),
                 .precision = cut(wide.precision),
                 .tolerance = cut(wide.tolerance),
                 .seconds = cut(wide.time.tv_sec),
                 .microseconds = cut(wide.time.tv_usec),
                 .tick = cut(wide.tick),
                 .ppsfreq = cut(wide.ppsfreq),
                 .jitter = cut(wide.jitter),
                 .shift = wide.shift,
                 .stabil = cut(wide.stabil),
                 .jitcnt = cut(wide.jitcnt),
                 .calcnt = cut(wide.calcnt),
                 .errcnt = cut(wide.errcnt),
                 .stbcnt = cut(wide.stbcnt),
                 .tai = wide.tai,
                 .unused = {}};
}

}  // namespace sidecall::emulators
