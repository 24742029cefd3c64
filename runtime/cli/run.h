// A command under a policy, without a container engine.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "oci/seccomp.h"
#include "policy/policy.h"

namespace sidecall::cli {

struct RunRequest {
  std::vector<std::string> command;  // never empty
  policy::Policy policy;
  oci::SeccompProfile base = oci::allow_all_profile();  // what the policy is merged into
  bool show_statistics = false;  // on standard error, once the command has ended
};

// Exit statuses as env(1) gives them.
inline constexpr int kRunFailed = 125;
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;

// Runs the command to its end and returns its exit status, or 128 + N where signal N ended it.
// Signals that are sent to us are passed on. What the command leaves running stays served, by a
// worker that outlives us.
[[nodiscard]] Result<int> run(const RunRequest& request);

}  // namespace sidecall::cli
