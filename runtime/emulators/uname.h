// uname(2): another kernel release, version, node name or domain.
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row uname_row();

}  // namespace sidecall::emulators
