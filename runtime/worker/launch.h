// Starting a worker process and talking to it. Used by the agent and by `sidecall run`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "emulators/program.h"
#include "placement/cpu_set.h"
#include "worker/statistics.h"

namespace sidecall::worker {

struct LaunchOptions {
  std::string worker_path;  // the sidecall-worker program
  std::string sandbox;      // shown in the process's arguments
  placement::CpuSet cpus;   // empty: left where the parent is
  const emulators::Program* program = nullptr;
  // The memory of a dead worker of the same program and sandbox that this one replaces: it goes on
  // counting there, and finishes the calls that were in flight. Null for a first worker.
  const Statistics* predecessor = nullptr;
};

// What a worker tells.
struct WorkerReport {
  enum class Kind : std::uint8_t {
    kReady,           // waiting for listeners
    kListenerClosed,  // `tag`'s last user has exited; its thread has ended
    kMessage,         // `text` is one line for the log
    kEventsWaiting,   // the ring of events fills up
    kBridgeLost,      // the bridge of the generation `tag` is of no use to it
    kEnded,           // the process has closed its side: it is exiting or dead
  };
  Kind kind = Kind::kMessage;
  std::uint64_t tag = 0;
  std::string text{};
};

// A running worker. Owns its control socket, pidfd and statistics. Destroying it closes the control
// socket and does not end the process: a worker serves on without whoever started it, until its
// last listener is closed.
class WorkerProcess {
 public:
  // Starts the program; the first report is kReady, or kEnded where it could not start.
  [[nodiscard]] static Result<WorkerProcess> launch(const LaunchOptions& options);

  // A running one that somebody else has launched: its pidfd, the launcher's end of its control
  // socket and its memory. An error where one of them is another thing.
  [[nodiscard]] static Result<WorkerProcess> adopt(UniqueFd pidfd, UniqueFd control,
                                                   UniqueFd memory);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] int control_fd() const { return control_.get(); }  // readable: receive_report()
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }

  // Hands a listener over; `listener` stays the caller's. `tag` comes back in kListenerClosed.
  // `pid` is the process that the filter was installed for, `first_pid` the sandbox's first.
  [[nodiscard]] Result<void> add_listener(int listener, std::uint64_t tag, pid_t pid,
                                          pid_t first_pid);
  // Hands it the bridge's socket for one of the program's plugins, by number; `socket` stays the
  // caller's. `generation` grows from bridge to bridge, and comes back in kBridgeLost.
  [[nodiscard]] Result<void> connect_bridge(int socket, std::uint64_t generation,
                                            std::uint32_t plugin);
  // Asks it to end when it has no listener left. Before this a worker without listeners waits.
  [[nodiscard]] Result<void> finish();
  // Asks it to receive no more, finish what it has received and end: another takes its place. Calls
  // that come meanwhile wait.
  [[nodiscard]] Result<void> retire();
  // One report; blocks where none has come yet.
  [[nodiscard]] Result<WorkerReport> receive_report();

 private:
  WorkerProcess(pid_t pid, UniqueFd pidfd, UniqueFd control, Statistics statistics);
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd control_;
  Statistics statistics_;
};

}  // namespace sidecall::worker
