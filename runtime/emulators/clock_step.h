// What the clock emulator asks its helper for.
#pragma once

#include <sys/time.h>
#include <sys/timex.h>

#include <ctime>

#include "base/result.h"
#include "emulators/emulator.h"

namespace sidecall::emulators {

// Sets the host's clock as settimeofday(2) would. Null: stays as it is.
[[nodiscard]] SysResult<void> set_clock(const timespec* time, const struct timezone* zone,
                                        Environment& environment);

// Adjusts it as clock_adjtime(2) would, which gives the clock's state and fills `adjustment`.
[[nodiscard]] SysResult<int> adjust_clock(timex& adjustment, Environment& environment);

// Makes a step that either of them has asked for.
[[nodiscard]] SysResult<StepResult> perform_clock_step(const Step& step, kernel::HostActions& host);
[[nodiscard]] StepWords describe_clock_step(const Step& step);

}  // namespace sidecall::emulators
