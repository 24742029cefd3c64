// The sandbox's launcher: a process beside the worker that starts the programs which serve its
// filesystems.
//
// It lives in a room (kernel/fuse_room.h) in the sandbox's user namespace, where it can do no more
// than the sandbox's root, and ends with the worker. Each program runs below a process of its own,
// the first of a pid namespace, that the launcher forks: that one answers, outlives launcher and
// worker, so that what is mounted stays, and ends with the program or the sandbox.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "emulators/emulator.h"
#include "kernel/user_namespace.h"
#include "worker/dispatcher.h"

namespace sidecall::worker {

// The worker's end: launch() of emulators. May be used from any thread; a step takes as long as its
// program takes to come up.
class Launcher final : public emulators::Helper {
 public:
  // Programs of one worker at a time.
  static constexpr int kMostPrograms = 64;

  // Forks it. The process must have one thread, the host's root and its rights. `first_pid` is the
  // sandbox's first process.
  [[nodiscard]] static Result<std::unique_ptr<Launcher>> start(const Dispatcher& dispatcher,
                                                               const kernel::SandboxUsers& users,
                                                               pid_t first_pid);

  // ENOSPC where there are kMostPrograms, EIO where nobody answers. Where the launcher has gone the
  // process ends.
  [[nodiscard]] SysResult<emulators::StepResult> perform(std::uint32_t instance,
                                                         const emulators::Step& step) override;

 private:
  explicit Launcher(UniqueFd control) : control_(std::move(control)) {}
  UniqueFd control_;
};

}  // namespace sidecall::worker
