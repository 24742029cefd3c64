// Starting a keeper.
#pragma once

#include <string>

#include "base/result.h"
#include "keeper/link.h"

namespace sidecall::keeper {

// Starts `program` (sidecall-keeper), listening at `path`, where nobody else does, and connects to
// it. It is nobody's child, in a session of its own and with no standard streams, so that nothing
// that ends the caller ends it.
[[nodiscard]] Result<Link> start(const std::string& program, const std::string& path);

}  // namespace sidecall::keeper
