// A policy as people name one on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/compile.h"
#include "policy/policy.h"

namespace sidecall::cli {

// config/policies/default.json, as it was when the program was built.
extern const std::string_view kEmbeddedPolicy;

// A file where `argument` has a slash or ends in ".json", else a name in `policy_directory`.
[[nodiscard]] Result<policy::Policy> find_policy(const std::string& argument,
                                                 const std::string& policy_directory);

[[nodiscard]] Result<policy::Policy> embedded_policy();

// compile_profile() with the policy's name in front of an error.
[[nodiscard]] Result<policy::CompiledProfile> compile_over(const policy::Policy& policy,
                                                           const oci::SeccompProfile& base);

}  // namespace sidecall::cli
