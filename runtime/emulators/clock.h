// Setting the clock: clock_settime(2), settimeofday(2), adjtimex(2), clock_adjtime(2), stime(2).
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row clock_row();

}  // namespace sidecall::emulators
