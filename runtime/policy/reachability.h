// Rules that can never decide anything.
#pragma once

#include "base/result.h"
#include "policy/policy.h"

namespace sidecall::policy {

// Fails where a rule's conditions exclude each other, where a rule repeats an earlier one's
// conditions for a call, and where an earlier one has none, so that it decides first. Names both
// rules' paths.
[[nodiscard]] Result<void> check_reachability(const Policy& policy);

}  // namespace sidecall::policy
