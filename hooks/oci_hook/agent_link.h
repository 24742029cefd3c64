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
    kBroken,   // the agent hung up before it had answered: it was stopped or killed
    kTrouble,  // everything else: no permission, silence
    kRefused,  // the agent answered, and not with "ok"; the error is its own line
  };
  Kind kind = Kind::kTrouble;
  Error error;
};

// Both together are shorter than the hooks' own timeout of 10 s, so that an absent or silent agent
// is named before the engine kills the hook.
struct Patience {
  std::chrono::milliseconds absence{0};    // for an agent that is not there, or hangs up
  std::chrono::milliseconds answer{5000};  // each for connecting, sending and receiving
};

class AgentLink {
 public:
  explicit AgentLink(std::string run_directory, Patience patience = {})
      : run_directory_(std::move(run_directory)), patience_(patience) {}

  // Whether an agent is there.
  [[nodiscard]] tl::expected<void, LinkFailure> ping() const {
    return ask("ping\n", patience_.absence);
  }
  // The same without patience for absence.
  [[nodiscard]] tl::expected<void, LinkFailure> ping_once() const { return ask("ping\n", {}); }
  // `stage` is createRuntime or poststop, `state` the OCI state as the engine gave it.
  [[nodiscard]] tl::expected<void, LinkFailure> announce(std::string_view stage,
                                                         std::string_view state) const {
    return ask(std::string(stage).append("\n").append(state), patience_.absence);
  }

 private:
  [[nodiscard]] tl::expected<void, LinkFailure> ask(std::string_view request,
                                                    std::chrono::milliseconds absence) const;
  [[nodiscard]] tl::expected<void, LinkFailure> ask_once(std::string_view request) const;

  std::string run_directory_;
  Patience patience_;
};

}  // namespace sidecall::oci_hook
