// The thread that waits on one listener.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "base/result.h"
#include "kernel/kernel_target.h"
#include "kernel/listener.h"
#include "worker/actor_pool.h"
#include "worker/server.h"

namespace sidecall::worker {

struct ReceiverOptions {
  std::uint64_t tag = 0;
  std::function<void(std::uint64_t tag)> on_end;  // called on the thread, as its last act
};

// Blocks in RECV: the one way of waiting that keeps the synchronous wake-up whole. Calls that may
// sleep go to the pool, all others are answered at once.
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

 private:
  // What outlives the thread where an actor still serves a call of the listener.
  struct Shared;
  void run();
  void receive_all(Server& server);
  // Finishes what the worker before us had received from this listener.
  void take_over(Server& server);
  // `slot` may be null: then there is no record of the call.
  void submit(const PendingCall& call, JournalSlot* slot);

  ServerParts parts_;
  const kernel::SandboxNamespaces& namespaces_;
  ActorPool& pool_;
  ReceiverOptions options_;
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace sidecall::worker
