// The stages of the hook, as functions from what the engine gives to what it gets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oci_hook/agent_link.h"
#include "oci_hook/arguments.h"

namespace sidecall::oci_hook {

inline constexpr std::size_t kLongestInput = 16U << 20;  // bytes

struct Outcome {
  int exit_status = 0;
  std::string output;              // for standard output
  std::vector<std::string> lines;  // for standard error
};

// `config` is config.json, `hook_path` our own absolute path. Output is the edited config.json; it
// is `config` to the byte where that has been edited before (so that a second run changes nothing),
// and where the agent is absent and the container's annotations make it optional.
[[nodiscard]] Outcome precreate(const Arguments& arguments, const AgentLink& agent,
                                std::string_view hook_path, std::string_view config);

// `state` is the container's OCI state. Fails where the agent is absent even if that is optional:
// the filter is in place by now, and without an agent each of its notified calls would fail.
[[nodiscard]] Outcome create_runtime(const AgentLink& agent, std::string_view state);

// Never fails for what the agent does or does not do: the container has ended.
[[nodiscard]] Outcome poststop(const AgentLink& agent, std::string_view state);

}  // namespace sidecall::oci_hook
