// sysinfo(2): the sandbox's own limits instead of the host's figures.
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row sysinfo_row();

}  // namespace sidecall::emulators
