// The one edit that puts a container under sidecall: of the engine's config.json on its way to the
// OCI runtime (sidecall-hook precreate), or of a bundle's (sidecall bundle).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oci/config.h"
#include "oci/seccomp.h"
#include "policy/policy.h"

namespace sidecall::oci_hook {

// What an edited config.json refers to.
struct Installation {
  std::string hook_path;      // of sidecall-hook, absolute
  std::string run_directory;  // of sidecalld, absolute
};

// The policy that the annotations name, else `fallback`.
[[nodiscard]] std::string policy_name(const std::map<std::string, std::string>& annotations,
                                      std::string_view fallback);

// Has the listener sent to the agent, with the policy's name in its metadata. Fails where the
// socket's path is too long for a socket.
[[nodiscard]] Result<void> set_listener(oci::SeccompProfile& profile, std::string_view policy,
                                        std::string_view run_directory);

// Whether `config` has been edited for this agent and policy. A listener of anybody else's, and the
// edit for another policy, is an error: a filter chain has one listener (EBUSY, seccomp(2)), and a
// filter made for one policy does not fit another.
[[nodiscard]] Result<bool> is_applied(const oci::Config& config, std::string_view policy,
                                      const Installation& installation);

// Merges the policy's filter into linux.seccomp, adds the listener, the createRuntime and poststop
// hooks, and the policy's annotation, which the agent finds in the container's state. A config that
// is_applied() already stays as it is. Returns notes, one line each, for a person.
[[nodiscard]] Result<std::vector<std::string>> apply(oci::Config& config,
                                                     const policy::Policy& policy,
                                                     const Installation& installation);

// Takes out of `config` what apply() put in, and nothing else: what was edited by hand meanwhile
// stays, but for changes to the merged linux.seccomp itself, which gives way to that of `original`,
// the config before apply().
[[nodiscard]] Result<void> take_out(oci::Config& config, const oci::Config& original,
                                    const Installation& installation);

}  // namespace sidecall::oci_hook
