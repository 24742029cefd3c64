// sched_setscheduler(2), sched_setparam(2), sched_setattr(2), setpriority(2), ioprio_set(2).
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row sched_row();

}  // namespace sidecall::emulators
