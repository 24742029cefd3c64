// Serving one notification: decide, emulate, answer, count.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/function_ref.h"
#include "emulators/emulator.h"
#include "kernel/listener.h"
#include "worker/actor_pool.h"
#include "worker/dispatcher.h"
#include "worker/event_log.h"
#include "worker/journal.h"
#include "worker/made_once.h"
#include "worker/statistics.h"

namespace sidecall::worker {

class RemoteCalls;

// Makes the target of a notification for the time that it is served. Used by one thread.
class TargetSource {
 public:
  TargetSource() = default;
  TargetSource(const TargetSource&) = delete;
  TargetSource& operator=(const TargetSource&) = delete;
  virtual ~TargetSource() = default;
  [[nodiscard]] virtual emulators::Outcome with_target(
      const kernel::Notification& notification,
      FunctionRef<emulators::Outcome(kernel::Target&)> act) = 0;
};

// A call that has been decided and not been answered. Plain data.
struct PendingCall {
  kernel::Notification notification;
  Decision decision;
  std::uint64_t received_ns = 0;  // CLOCK_MONOTONIC; 0 where the call is not timed
};

// What a thread serves with. All references outlive the thread.
struct ServerParts {
  const Dispatcher& dispatcher;
  const emulators::Sandbox& sandbox;
  const Statistics& statistics;
  // One line about a failure of sidecall's own; may be called from any thread.
  const std::function<void(const std::string&)>& report;
  MadeOnce* made_once = nullptr;     // null: nobody asks
  RemoteCalls* remote = nullptr;     // null where no rule is remote
  const EventLog* events = nullptr;  // null: nobody watches
};

// One thread's end of a listener. Stateless but for its buffer and a count, and without locks.
class Server {
 public:
  Server(const ServerParts& parts, kernel::Listener& listener, TargetSource& targets,
         kernel::NotificationBuffer buffer)
      : parts_(parts), listener_(listener), targets_(targets), buffer_(std::move(buffer)) {}

  // RECV, and the look-up.
  [[nodiscard]] SysResult<PendingCall> receive();
  // The look-up alone, for a call that a worker before us has received.
  [[nodiscard]] PendingCall take_up(const kernel::Notification& notification);
  // Emulates where there is an emulator, and answers. `acting` may be null where the call does not
  // need files.
  void serve(const PendingCall& call, const Acting* acting);
  // What `act` gives is the answer.
  void serve_by(const PendingCall& call, FunctionRef<emulators::Outcome(kernel::Target&)> act);
  // Answers with an errno and asks nobody.
  void refuse(const PendingCall& call, int errno_value);
  // With EAGAIN, for what the policy's limits leave no room for. Counted; reported once a sandbox.
  void refuse_beyond_limits(const PendingCall& call);
  // Puts the call received last on record elsewhere, unless `slot` is null, and forgets it here.
  void hand_on(JournalSlot* slot);

 private:
  [[nodiscard]] emulators::Outcome outcome_of(const PendingCall& call, const Acting* acting,
                                              bool made_before);
  // Of an emulator that cannot be repeated.
  void serve_once(const PendingCall& call, const Acting* acting);
  void answer_as_declared(const PendingCall& call);
  // Whether somebody was there for it.
  bool answer(const PendingCall& call, const emulators::Outcome& outcome);
  // `number` is the errno or value that it was answered with.
  void count(const PendingCall& call, emulators::VerdictKind kind, bool answered,
             std::int64_t number);
  void count_failure(const PendingCall& call);

  ServerParts parts_;
  kernel::Listener& listener_;
  TargetSource& targets_;
  kernel::NotificationBuffer buffer_;
  unsigned taken_up_ = 0;
};

}  // namespace sidecall::worker
