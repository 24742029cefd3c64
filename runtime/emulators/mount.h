// mount(2); fsopen(2) and fsconfig(2) steered back to it.
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row mount_row();

}  // namespace sidecall::emulators
