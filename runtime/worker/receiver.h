// The thread that waits on one listener.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/result.h"
#include "kernel/kernel_target.h"
#include "kernel/listener.h"
#include "placement/cpu_set.h"
#include "worker/actor_pool.h"
#include "worker/load_watch.h"
#include "worker/reinforcement.h"
#include "worker/server.h"

namespace sidecall::worker {

struct ReceiverOptions {
  std::uint64_t tag = 0;
  std::function<void(std::uint64_t tag)> on_end;  // called on the thread, as its last act
};

// Blocks in RECV: the one way of waiting that keeps the synchronous wake-up whole. Calls that may
// sleep go to the pool, all others are answered at once. Where calls come from several CPUs at
// once, further threads join it.
class Receiver {
 public:
  // `namespaces` outlives it and every actor.
  Receiver(const ServerParts& parts, std::unique_ptr<kernel::Listener> listener,
           const kernel::SandboxNamespaces& namespaces, ActorPool& pool, ReceiverOptions options);
  ~Receiver();  // waits for the thread's end
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  // For kernels before 6.11, where a blocked RECV does not notice that the last user has exited:
  // makes the thread look again. Uses SIGUSR1, whose handler main() installs.
  void nudge();
  // Makes the thread end after the call that it serves; it may have to be nudged.
  void retire() { is_retiring_.store(true, std::memory_order_relaxed); }

 private:
  // What outlives the thread where an actor still serves a call of the listener.
  struct Shared;
  struct ServingThread;
  void run();
  // `caller` becomes the thread whose call was served.
  [[nodiscard]] Turn receive_one(ServingThread& self, pid_t& caller);
  // What a further thread serves with.
  [[nodiscard]] Reinforcement::ServeOne make_further_server();
  // After each call of the first thread: whether there are enough.
  void watch_load(pid_t caller);
  void grow();
  void shrink();
  [[nodiscard]] std::optional<unsigned> cpu_to_grow_to() const;
  // Finishes what the worker before us had received from this listener.
  void take_over(ServingThread& self);
  // Answers a call that has cost workers, so that it does not cost the sandbox.
  void give_up(Server& server, const PendingCall& call);
  // For an actor. `slot` has the call's record; without one it is refused, as it would be lost with
  // this worker.
  void submit(const PendingCall& call, JournalSlot* slot);
  // The same for a call that a plugin serves. `maybe_sent`: by a worker before us.
  void ask_plugin(const PendingCall& call, JournalSlot* slot, ServingThread& self, bool maybe_sent);

  ServerParts parts_;
  const kernel::SandboxNamespaces& namespaces_;
  ActorPool& pool_;
  ReceiverOptions options_;
  std::atomic<bool> is_retiring_{false};
  std::shared_ptr<Shared> shared_;
  // The first thread's own:
  LoadWatch load_;
  Reinforcement reinforcement_;
  unsigned most_further_ = 0;
  placement::CpuSet home_;             // its CPUs while it is alone
  std::optional<unsigned> pinned_to_;  // while it is not

  std::thread thread_;
};

}  // namespace sidecall::worker
