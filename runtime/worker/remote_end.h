// A listener's end as remote calls need it: answering from whichever thread.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "emulators/verdict.h"
#include "kernel/target.h"
#include "kernel/thread_cache.h"
#include "worker/server.h"

namespace sidecall::worker {

class RemoteEnd {
 public:
  using Act = FunctionRef<emulators::Outcome(kernel::Target&)>;

  RemoteEnd() = default;
  RemoteEnd(const RemoteEnd&) = delete;
  RemoteEnd& operator=(const RemoteEnd&) = delete;
  virtual ~RemoteEnd() = default;

  [[nodiscard]] virtual std::uint64_t tag() const = 0;  // the listener's
  [[nodiscard]] virtual int proc() const = 0;           // a descriptor on /proc
  [[nodiscard]] virtual bool is_waiting(std::uint64_t id) = 0;
  // Runs `act` on the caller, and answers nothing. `threads` is the calling thread's, here and
  // below.
  [[nodiscard]] virtual emulators::Outcome look(const PendingCall& call,
                                                kernel::ThreadCache& threads, Act act) = 0;
  // Answers with what `act` gives, and counts the call.
  virtual void answer(const PendingCall& call, kernel::ThreadCache& threads, Act act) = 0;
  // Server::refuse_beyond_limits()
  virtual void refuse_beyond_limits(const PendingCall& call) = 0;
};

}  // namespace sidecall::worker
