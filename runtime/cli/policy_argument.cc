#include "cli/policy_argument.h"

#include "base/paths.h"

namespace sidecall::cli {

Result<policy::Policy> find_policy(const std::string& argument,
                                   const std::string& policy_directory) {
  if (argument.find('/') != std::string::npos || argument.ends_with(".json")) {
    return policy::load_policy_file(argument);
  }
  return policy::load_policy(policy_directory, argument);
}

Result<policy::Policy> embedded_policy() {
  return policy::parse_policy(kDefaultPolicy, kEmbeddedPolicy);
}

Result<policy::CompiledProfile> compile_over(const policy::Policy& policy,
                                             const oci::SeccompProfile& base) {
  auto compiled = policy::compile_profile(policy, base);
  if (!compiled) return pass_on(std::move(compiled), "policy \"" + policy.name + "\"");
  return compiled;
}

}  // namespace sidecall::cli
