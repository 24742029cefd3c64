// umount2(2), umount(2).
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row umount_row();

}  // namespace sidecall::emulators
