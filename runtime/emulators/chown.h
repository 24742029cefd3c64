// chown(2), lchown(2), fchown(2), fchownat(2): success without a change, or more than the kernel
// would change.
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row chown_row();

}  // namespace sidecall::emulators
