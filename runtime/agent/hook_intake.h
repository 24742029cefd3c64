// The hook's side of the agent: base/paths.h has the protocol.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "agent/message_intake.h"
#include "base/result.h"
#include "oci/state.h"

namespace sidecall::agent {

struct HookRequest {
  enum class Stage : std::uint8_t { kPing, kCreateRuntime, kPoststop };
  Stage stage = Stage::kPing;
  oci::State state;  // empty for kPing
};
[[nodiscard]] Result<HookRequest> read_hook_request(std::string_view bytes);

// Answers a request, now or later, once: with an error's text or "ok". Destroying it unanswered
// closes the connection, which the hook takes for a failure.
using HookAnswer = std::function<void(Result<void>)>;

// Who answers. Called on the loop's thread.
class HookHandler {
 public:
  HookHandler() = default;
  HookHandler(const HookHandler&) = delete;
  HookHandler& operator=(const HookHandler&) = delete;
  virtual ~HookHandler() = default;

  // A container is being created; the answer lets its start go on.
  virtual void expect(oci::State state, HookAnswer answer) = 0;
  // A container has ended.
  virtual void forget(const oci::State& state) = 0;
};

[[nodiscard]] Result<std::unique_ptr<MessageIntake>> start_hook_intake(EventLoop& loop,
                                                                       const Log& log,
                                                                       ListeningSocket socket,
                                                                       IntakeLimits limits,
                                                                       HookHandler& handler);

}  // namespace sidecall::agent
