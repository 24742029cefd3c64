#include "agent/listener_intake.h"

#include <utility>

#include "kernel/listener.h"
#include "oci/document_end.h"

namespace sidecall::agent {

Result<Delivery> read_delivery(Message message) {
  auto process = oci::parse_container_process_state(message.bytes);
  if (!process) return pass_on(std::move(process), "container state");
  if (process->fds.size() != 1 || process->fds.front() != "seccompFd") {
    return failure("container state: $.fds does not name one \"seccompFd\" and nothing else");
  }
  if (message.descriptors.size() != 1) {
    return failure(std::to_string(message.descriptors.size()) +
                   " descriptors came with the state, where one is due");
  }
  UniqueFd listener = std::move(message.descriptors.front());
  if (!kernel::is_listener(listener.get())) {
    return failure("the descriptor that came with the state is no seccomp listener");
  }
  return Delivery{std::move(*process), std::move(listener)};
}

Result<std::unique_ptr<MessageIntake>> start_listener_intake(EventLoop& loop, const Log& log,
                                                             ListeningSocket socket,
                                                             const IntakeLimits& limits,
                                                             std::function<void(Delivery)> deliver,
                                                             Shelter* shelter) {
  return MessageIntake::start(
      // crun keeps its end open for as long as the container's process runs.
      loop, log, std::move(socket), "runtime", limits, oci::is_whole_document,
      [&log, deliver = std::move(deliver)](Message message) {
        const pid_t peer = message.peer.credentials.pid;
        auto delivery = read_delivery(std::move(message));
        if (!delivery) {
          log.warn("listener dropped",
                   {{"peer_pid", std::to_string(peer)}, {"cause", delivery.error().message}});
          return;
        }
        deliver(std::move(*delivery));
      },
      shelter);
}

}  // namespace sidecall::agent
