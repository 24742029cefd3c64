// Policy + base profile -> the filter that the OCI runtime installs; policy -> the worker's
// program.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "emulators/program.h"
#include "oci/seccomp.h"
#include "policy/policy.h"

namespace sidecall::policy {

// What the worker runs. Does not depend on a base profile, so that the agent can build it from the
// policy's name alone.
[[nodiscard]] Result<emulators::Program> compile_program(const Policy& policy);

// What the worker of a container runs that is running already, under a filter that notifies the
// calls of `notified` and will not change.
struct Replacement {
  emulators::Program program;      // with exactly those routes, in that order
  std::vector<std::string> notes;  // one line for each call that the filter decides otherwise
};
// What the policy's filter would have decided about a notified call the worker decides. A notified
// call that the policy does not name is left to the kernel's own check.
[[nodiscard]] Result<Replacement> compile_replacement(const Policy& policy,
                                                      std::span<const emulators::Route> notified);

struct CompiledProfile {
  oci::SeccompProfile profile;
  std::vector<std::string> notes;  // one line each, for people: what could be filtered better, …
};

// Merges the policy into `base`, which is in plain OCI form (oci::parse_profile makes it so).
// Each call falls under the policy's first rule that matches it, else under the base. Every
// decision that registers allow is made in the filter; only what needs sidecall is notified.
// Errors: conditions that a filter cannot express for an action that only a filter can carry out,
// and a call that the OCI runtime itself makes between installing the filter and handing over the
// listener, which would hang the start.
[[nodiscard]] Result<CompiledProfile> compile_profile(const Policy& policy,
                                                      const oci::SeccompProfile& base);

}  // namespace sidecall::policy
