// mknod(2), mknodat(2): device nodes from an allow-list.
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row mknod_row();

}  // namespace sidecall::emulators
