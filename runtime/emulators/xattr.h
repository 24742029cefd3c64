// setxattr(2), removexattr(2) and, on request, getxattr(2) and listxattr(2), of attributes that the
// kernel keeps for the host's root.
#pragma once

#include "emulators/table.h"

namespace sidecall::emulators {

[[nodiscard]] Row xattr_row();

}  // namespace sidecall::emulators
