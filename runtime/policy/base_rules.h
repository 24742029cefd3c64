// What a base profile does with one system call.
#pragma once

#include <string_view>
#include <vector>

#include "oci/seccomp.h"
#include "policy/filter_rule.h"

namespace sidecall::policy {

[[nodiscard]] FilterAction action_of(const oci::SeccompRule& rule);
[[nodiscard]] FilterAction default_action(const oci::SeccompProfile& profile);

// As crun, runc and libseccomp read the profile: rules with the default action count for nothing,
// two conditions on one register make all of a rule's conditions alternatives, and a rule without
// conditions decides alone, wherever it stands. The last rule has no conditions.
[[nodiscard]] std::vector<FilterRule> base_rules(const oci::SeccompProfile& profile,
                                                 std::string_view syscall);

}  // namespace sidecall::policy
