// The sandbox's helper: a process beside the worker that stays in the host's user namespace and
// performs the privileged steps of emulators, one thread for each actor of the worker.
//
// It takes nothing from the container but what the worker passes on, walks no path, holds only the
// capabilities that the policy's emulators declare for it, and ends with the worker. The container
// cannot see it: it is in none of its namespaces.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "emulators/emulator.h"
#include "kernel/user_namespace.h"
#include "worker/dispatcher.h"

namespace sidecall::worker {

// The worker's end. May be used from any thread.
class HelperProcess {
 public:
  // Forks it. The process must have one thread. `users` changes in the helper alone. `proc` is a
  // descriptor on /proc.
  [[nodiscard]] static Result<HelperProcess> start(const Dispatcher& dispatcher,
                                                   kernel::SandboxUsers& users, int proc);

  // A line of one thread's own to a thread of the helper.
  [[nodiscard]] Result<std::unique_ptr<emulators::Helper>> connect() const;

 private:
  explicit HelperProcess(UniqueFd control) : control_(std::move(control)) {}
  UniqueFd control_;
};

// A line over `socket`, SOCK_SEQPACKET. Where the other end has gone nobody knows whether a step
// was made: the process then ends, and its successor finds the call in the journal.
[[nodiscard]] std::unique_ptr<emulators::Helper> helper_line(UniqueFd socket);

// Performs the steps that come over `socket` until its other end is closed.
void perform_steps(int socket, const Dispatcher& dispatcher, kernel::HostActions& host);

}  // namespace sidecall::worker
