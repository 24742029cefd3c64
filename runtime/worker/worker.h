// The worker process: takes listeners from its control socket and serves them to their end.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/user_namespace.h"
#include "worker/actor_pool.h"
#include "worker/cgroup_sandbox.h"
#include "worker/dispatcher.h"
#include "worker/event_log.h"
#include "worker/helper.h"
#include "worker/launcher.h"
#include "worker/made_once.h"
#include "worker/protocol.h"
#include "worker/receiver.h"
#include "worker/remote_thread.h"
#include "worker/statistics.h"

namespace sidecall::worker {

// One thread runs it; each listener has a thread of its own, and calls that may sleep share a pool.
// Shared between them: the dispatcher (immutable), the statistics (atomics), the sandbox's figures
// and the ended list (a mutex each). Losing the control socket is no reason to end: it serves on
// until its last listener is closed.
class Worker {
 public:
  Worker(Dispatcher dispatcher, bool sync_wake_up, Statistics statistics, UniqueFd control);

  // Returns when the last listener has closed after kFinish or after the control socket's end.
  [[nodiscard]] Result<void> run();

 private:
  struct Served {
    std::unique_ptr<Receiver> receiver;
    // The listener once more, for its POLLHUP; none where receive_tells_end_.
    UniqueFd watch;
    bool hung_up = false;
  };

  void read_control();
  // Before the first listener, while the process has one thread: starts helper and launcher, goes
  // into the sandbox's user namespace and gives up what is not needed.
  [[nodiscard]] Result<void> settle(pid_t first_pid);
  [[nodiscard]] Result<void> look_at_sandbox(pid_t first_pid);
  [[nodiscard]] Result<void> separate(pid_t first_pid);
  [[nodiscard]] const emulators::Rights& rights() const {
    return dispatcher_.rights(sandbox_.has_own_user_namespace());
  }
  [[nodiscard]] Result<Acting> make_acting() const;  // on a thread of the pool
  [[nodiscard]] Result<void> add_listener(const ToWorker& message, UniqueFd fd);
  void connect_bridge(const ToWorker& message, UniqueFd socket);
  void set_sync(kernel::Listener& listener);
  void note_ended(std::uint64_t tag);  // on the receiver's thread
  void collect_ended();
  [[nodiscard]] std::vector<pollfd> poll_set() const;
  void look_at_listeners(const std::vector<pollfd>& polled);
  [[nodiscard]] bool nudge_hung_up();
  // Whether it has been told: nobody reads while there is no agent, and the socket may be full.
  bool tell(FromWorker::Kind kind, std::uint64_t tag, const std::string& text);
  void tell_closed(std::uint64_t tag);
  void tell_untold();

  const Dispatcher dispatcher_;
  const bool sync_wake_up_;
  const Statistics statistics_;
  UniqueFd control_;
  // A thread that waits in poll(2) on a listener adds to the cost of each of its calls.
  const bool receive_tells_end_ = kernel::receive_tells_end();
  UniqueFd wake_;  // eventfd: something is in ended_
  const std::function<void(const std::string&)> report_;
  MadeOnce made_once_;
  EventLog events_;
  CgroupSandbox sandbox_;
  std::optional<Result<void>> settled_;  // what settle() gave
  // For a worker whose emulators look at their callers:
  kernel::SandboxNamespaces namespaces_;
  kernel::SandboxUsers users_;
  std::optional<HelperProcess> helper_;
  std::unique_ptr<Launcher> launcher_;
  bool finishing_ = false;
  bool retiring_ = false;
  std::deque<std::uint64_t> untold_;  // tags of closed listeners, once there is room to tell them

  std::mutex ended_mutex_;
  std::vector<std::uint64_t> ended_;  // tags of listeners whose thread is at its end

  // After all that their threads use, so that they end first; the pool before the receivers that
  // submit to it.
  ActorPool pool_;
  std::unique_ptr<RemoteThread> remote_;  // null where the program has no remote rules
  std::map<std::uint64_t, Served> served_;
};

}  // namespace sidecall::worker
