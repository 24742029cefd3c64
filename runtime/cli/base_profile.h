// The profile that a policy is merged into, as the command line names it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "oci/seccomp.h"

namespace sidecall::cli {

struct BaseProfile {
  std::string path;                       // empty: one that allows everything
  std::vector<std::string> capabilities;  // of the container, for includes and excludes
};

// Adds --base and --cap to a command.
void take_base_profile(CommandLine& command, BaseProfile& base);

// In OCI, containers-common or docker form; what the latter include and exclude is resolved against
// this host.
[[nodiscard]] Result<oci::SeccompProfile> load_base_profile(const BaseProfile& base);

}  // namespace sidecall::cli
