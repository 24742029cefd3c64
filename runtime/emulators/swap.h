// swapon(2), swapoff(2): success without an effect, or an error of choice.
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row swap_row();

}  // namespace sidecall::emulators
