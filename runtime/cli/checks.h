// What `sidecall doctor` looks at. Each group is one file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"

namespace sidecall::cli {

struct Check {
  enum class State : std::uint8_t {
    kGood,
    kAdvice,   // sidecall works, but not here, not this way or not as well
    kMissing,  // required
  };
  State state = State::kGood;
  std::string name;
  std::string detail;  // what was found and, unless that is good, what to do
};

// What the kernel can do for a supervisor, and whether the worker program is installed.
[[nodiscard]] std::vector<Check> check_kernel();
// The cgroup layout, which decides whether crun runs.
[[nodiscard]] std::vector<Check> check_cgroups();
// The OCI runtimes and engines in PATH, and whether each can use sidecall.
[[nodiscard]] std::vector<Check> check_engines();
[[nodiscard]] std::vector<Check> check_agent(const Context& context);
// Every policy in the policy directory.
[[nodiscard]] std::vector<Check> check_policies(const Context& context);

}  // namespace sidecall::cli
