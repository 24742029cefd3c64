// reboot(2): success without an effect, an error of choice, or the end of the sandbox.
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row reboot_row();

}  // namespace sidecall::emulators
