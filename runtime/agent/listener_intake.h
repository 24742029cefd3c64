// What an OCI runtime sends to the listenerPath of a profile.
#pragma once

#include <functional>
#include <memory>

#include "agent/message_intake.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "oci/state.h"

namespace sidecall::agent {

// A seccomp listener and the process whose filter it belongs to.
struct Delivery {
  oci::ContainerProcessState process;
  UniqueFd listener;
};

// The runtime sends one state per connection, the descriptors that `fds` names beside it, and then
// closes: config-linux.md#containerprocessstate of the OCI runtime specification. Errors: malformed
// state, anything but one descriptor named "seccompFd", a descriptor that is no seccomp listener.
[[nodiscard]] Result<Delivery> read_delivery(Message message);

// Serves `socket`. What is not a delivery is logged and dropped, its descriptors with it: the calls
// that they stood for then fail with ENOSYS, never unsupervised.
[[nodiscard]] Result<std::unique_ptr<MessageIntake>> start_listener_intake(
    EventLoop& loop, const Log& log, ListeningSocket socket, const IntakeLimits& limits,
    std::function<void(Delivery)> deliver, Shelter* shelter = nullptr);

}  // namespace sidecall::agent
