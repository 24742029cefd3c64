#include "agent/hook_intake.h"

#include <sys/socket.h>

#include <string>
#include <utility>

namespace sidecall::agent {
namespace {

// One line fits the empty send buffer of a fresh connection; a hook that has gone is no matter, as
// its container's start has then failed.
HookAnswer answer_on(UniqueFd socket) {
  return [socket = std::make_shared<UniqueFd>(std::move(socket))](const Result<void>& outcome) {
    const std::string line = (outcome ? "ok" : one_line(outcome.error().message)) + "\n";
    static_cast<void>(::send(socket->get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    socket->reset();
  };
}

void handle(Message message, const Log& log, HookHandler& handler) {
  auto request = read_hook_request(message.bytes);
  const HookAnswer answer = answer_on(std::move(message.peer.socket));
  if (!request) {
    log.warn("hook refused", {{"peer_pid", std::to_string(message.peer.credentials.pid)},
                              {"cause", request.error().message}});
    answer(tl::unexpected(std::move(request).error()));
    return;
  }
  switch (request->stage) {
    case HookRequest::Stage::kPing:
      break;
    case HookRequest::Stage::kCreateRuntime:
      return handler.expect(std::move(request->state), answer);
    case HookRequest::Stage::kPoststop:
      handler.forget(request->state);
      break;
  }
  answer({});
}

}  // namespace

Result<HookRequest> read_hook_request(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return failure("hook request: no line that names its stage");
  const std::string_view stage = bytes.substr(0, end);
  const std::string_view body = bytes.substr(end + 1);
  HookRequest request;
  if (stage == "ping") {
    if (!body.empty()) return failure("hook request: ping brings nothing else");
    return request;
  }
  if (stage == "createRuntime") {
    request.stage = HookRequest::Stage::kCreateRuntime;
  } else if (stage == "poststop") {
    request.stage = HookRequest::Stage::kPoststop;
  } else {
    return failure("hook request: unknown stage \"" + std::string(stage.substr(0, 32)) + "\"");
  }
  auto state = oci::parse_state(body);
  if (!state) return pass_on(std::move(state), "container state");
  request.state = std::move(*state);
  return request;
}

Result<std::unique_ptr<MessageIntake>> start_hook_intake(EventLoop& loop, const Log& log,
                                                         ListeningSocket socket,
                                                         IntakeLimits limits,
                                                         HookHandler& handler) {
  limits.descriptors = 0;
  return MessageIntake::start(
      loop, log, std::move(socket), "hook", limits, [](std::string_view) { return false; },
      [&log, &handler](Message message) { handle(std::move(message), log, handler); });
}

}  // namespace sidecall::agent
