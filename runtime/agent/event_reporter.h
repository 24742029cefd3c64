// What happens, told: to watchers as events, and of privileged steps to the log, always.
#pragma once

#include <string>

#include "agent/event_hub.h"
#include "agent/event_loop.h"
#include "agent/log.h"
#include "agent/snapshot.h"

namespace sidecall::agent {

// Lives on the loop's thread. Reads what workers have written down at least twice a second, twenty
// times where somebody watches, and at once where a worker says that it runs out of room.
class EventReporter {
 public:
  // All must outlive it.
  EventReporter(EventLoop& loop, const SnapshotBoard& board, EventHub& hub, const Log& log);

  void appeared(const SandboxView& sandbox) const;
  void ended(const SandboxView& sandbox) const;
  void worker_restarted(const SandboxView& sandbox) const;
  void policy_changed(const SandboxView& sandbox) const;
  void cpus_changed(const SandboxView& sandbox) const;
  // Brings what the sandbox's worker has written down.
  void read_calls(const SandboxView& sandbox) const;
  // The board has changed.
  void board_changed() const { hub_.tell_workers(board_); }

 private:
  void read_all();
  void tell(const SandboxView& sandbox, const worker::EventRecord& record) const;

  EventLoop& loop_;
  const SnapshotBoard& board_;
  EventHub& hub_;
  const Log& log_;
  EventLoop::Handle timer_;
};

}  // namespace sidecall::agent
