// The "remote" action of a rule.
#pragma once

#include <cstdint>

#include "oci/json.h"
#include "policy/policy.h"

namespace sidecall::policy {

// The member's `plugin`, `deadline`, `absent`, `errno` and `may_continue`.
void read_remote(const oci::Node& remote, PolicyRule& rule);

// A name or a number from 1 to 4095; 0 where it is neither, which is then rejected.
[[nodiscard]] std::int64_t read_errno(const oci::Node& node);

}  // namespace sidecall::policy
