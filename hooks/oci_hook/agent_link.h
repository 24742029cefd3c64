// A hook's conversation with the agent, over hook.sock (base/paths.h says how it goes).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sidecall::oci_hook {

struct LinkFailure {
  enum class Kind : std::uint8_t {
    kAbsent,   // there is no socket, or nobody listens on it
    kTrouble,  // everything else: no permission, silence, broken off
    kRefused,  // the agent answered, and not with "ok"; the error is its own line
  };
  Kind kind = Kind::kTrouble;
  Error error;
};

class AgentLink {
 public:
  // Shorter than the hooks' own timeout of 10 s, so that a silent agent is named before the engine
  // kills the hook. Holds for each of connecting, sending and receiving.
  static constexpr std::chrono::milliseconds kTimeout{5000};

  explicit AgentLink(std::string run_directory, std::chrono::milliseconds timeout = kTimeout)
      : run_directory_(std::move(run_directory)), timeout_(timeout) {}

  // Whether an agent is there at all.
  [[nodiscard]] tl::expected<void, LinkFailure> ping() const { return ask("ping\n"); }
  // `stage` is createRuntime or poststop, `state` the OCI state as the engine gave it.
  [[nodiscard]] tl::expected<void, LinkFailure> announce(std::string_view stage,
                                                         std::string_view state) const {
    return ask(std::string(stage).append("\n").append(state));
  }

 private:
  [[nodiscard]] tl::expected<void, LinkFailure> ask(std::string_view request) const;

  std::string run_directory_;
  std::chrono::milliseconds timeout_;
};

}  // namespace sidecall::oci_hook
