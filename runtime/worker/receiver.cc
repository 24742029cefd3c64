#include "worker/receiver.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "kernel/thread_directory.h"
#include "placement/placement.h"
#include "worker/remote_calls.h"
#include "worker/remote_end.h"

namespace sidecall::worker {
namespace {

class KernelTargets final : public TargetSource {
 public:
  KernelTargets(kernel::Listener& listener, const kernel::SandboxNamespaces& namespaces,
                kernel::ThreadCache& threads)
      : listener_(listener), namespaces_(namespaces), threads_(threads) {}

  emulators::Outcome with_target(const kernel::Notification& notification,
                                 FunctionRef<emulators::Outcome(kernel::Target&)> act) override {
    kernel::KernelTarget target(listener_, namespaces_, threads_, notification.id,
                                notification.tid);
    return act(target);
  }

 private:
  kernel::Listener& listener_;
  const kernel::SandboxNamespaces& namespaces_;
  kernel::ThreadCache& threads_;
};

bool is_remote(const PendingCall& call) {
  return call.decision.action == emulators::Rule::Action::kRemote;
}

unsigned most_beside_one(const placement::CpuSet& cpus) {
  return std::min(static_cast<unsigned>(std::max(cpus.count(), 1)) - 1, Reinforcement::kMost);
}

}  // namespace

struct Receiver::Shared final : RemoteEnd {
  Shared(const ServerParts& own_parts, std::unique_ptr<kernel::Listener> own_listener,
         const kernel::SandboxNamespaces& own_namespaces, std::uint64_t own_tag)
      : parts(own_parts),
        listener(std::move(own_listener)),
        namespaces(own_namespaces),
        listener_tag(own_tag) {}

  std::uint64_t tag() const override { return listener_tag; }
  int proc() const override { return namespaces.proc.get(); }
  bool is_waiting(std::uint64_t id) override { return listener->is_waiting(id); }
  emulators::Outcome look(const PendingCall& call, kernel::ThreadCache& threads, Act act) override {
    return KernelTargets(*listener, namespaces, threads).with_target(call.notification, act);
  }
  void answer(const PendingCall& call, kernel::ThreadCache& threads, Act act) override {
    with_server(threads, [&](Server& server) { server.serve_by(call, act); });
  }
  void refuse_beyond_limits(const PendingCall& call) override {
    kernel::ThreadCache threads;
    with_server(threads, [&](Server& server) { server.refuse_beyond_limits(call); });
  }

  // For a call that no receiver's thread answers. `threads` is the calling thread's.
  void with_server(kernel::ThreadCache& threads, FunctionRef<void(Server&)> act) {
    KernelTargets targets(*listener, namespaces, threads);
    Server server(parts, *listener, targets, kernel::NotificationBuffer(sizes));
    act(server);
  }

  const ServerParts parts;
  const std::unique_ptr<kernel::Listener> listener;
  const kernel::SandboxNamespaces& namespaces;
  const std::uint64_t listener_tag;
  kernel::NotificationSizes sizes;
};

Receiver::Receiver(const ServerParts& parts, std::unique_ptr<kernel::Listener> listener,
                   const kernel::SandboxNamespaces& namespaces, ActorPool& pool,
                   ReceiverOptions options)
    : parts_(parts),
      namespaces_(namespaces),
      pool_(pool),
      options_(std::move(options)),
      shared_(std::make_shared<Shared>(parts, std::move(listener), namespaces, options_.tag)),
      reinforcement_([this] { return make_further_server(); }) {
  thread_ = std::thread([this] {
    run();
    options_.on_end(options_.tag);
  });
}

Receiver::~Receiver() {
  thread_.join();
}

void Receiver::nudge() {
  ::pthread_kill(thread_.native_handle(), SIGUSR1);
}

// What a thread serves with. On record in the journal, where there is a slot left.
struct Receiver::ServingThread {
  explicit ServingThread(const Receiver& receiver)
      : slot(receiver.parts_.statistics.journal().take(receiver.options_.tag)),
        targets(*receiver.shared_->listener, receiver.namespaces_, threads),
        server(receiver.parts_, *receiver.shared_->listener, targets,
               slot != nullptr
                   ? kernel::NotificationBuffer(receiver.shared_->sizes, slot->notification)
                   : kernel::NotificationBuffer(receiver.shared_->sizes)) {}
  ~ServingThread() {
    if (slot != nullptr) Journal::release(*slot);
  }
  ServingThread(const ServingThread&) = delete;
  ServingThread& operator=(const ServingThread&) = delete;

  JournalSlot* const slot;
  kernel::ThreadCache threads;
  KernelTargets targets;
  Server server;
};

void Receiver::run() {
  const auto sizes = kernel::notification_sizes();
  if (!sizes) return parts_.report(sizes.error().message);
  shared_->sizes = *sizes;
  home_ = placement::own_cpus();
  most_further_ = most_beside_one(home_);
  ServingThread self(*this);
  take_over(self);
  while (!is_retiring_.load(std::memory_order_relaxed)) {
    pid_t caller = 0;
    const Turn turn = receive_one(self, caller);
    if (turn == Turn::kEnd) return;
    if (turn == Turn::kServed) watch_load(caller);
  }
}

Reinforcement::ServeOne Receiver::make_further_server() {
  return [this, self = std::make_shared<ServingThread>(*this)] {
    pid_t caller = 0;
    return receive_one(*self, caller);
  };
}

void Receiver::watch_load(pid_t caller) {
  const auto advice = load_.note(
      caller, reinforcement_.wanted(), most_further_,
      [&] { return shared_->listener->has_pending(); }, [&] { return reinforcement_.served(); });
  if (!load_.is_window_over()) return;
  reinforcement_.recall_late();
  const placement::CpuSet now = placement::own_cpus();
  const bool was_moved = pinned_to_ && !(now == placement::CpuSet::of(*pinned_to_));
  if (was_moved || !pinned_to_) home_ = now;
  most_further_ = most_beside_one(home_);
  if (was_moved || advice == LoadWatch::Advice::kShrink) return shrink();
  if (advice == LoadWatch::Advice::kGrow) grow();
}

void Receiver::grow() {
  if (!pinned_to_) {
    // With synchronous wake-up this is where the last caller was.
    const int here = ::sched_getcpu();
    if (here < 0 || !placement::place_self(placement::CpuSet::of(static_cast<unsigned>(here)))) {
      return;
    }
    pinned_to_ = static_cast<unsigned>(here);
  }
  if (const auto cpu = cpu_to_grow_to()) reinforcement_.send_to(*cpu);
}

// Where one of the last callers is, or any that is left.
std::optional<unsigned> Receiver::cpu_to_grow_to() const {
  const auto is_free = [&](unsigned cpu) {
    return home_.has(cpu) && cpu != *pinned_to_ && !reinforcement_.has_on(cpu);
  };
  for (const pid_t caller : load_.callers()) {
    const auto directory = kernel::ThreadDirectory::open(namespaces_.proc.get(), caller);
    const auto cpu = directory ? directory->last_cpu() : sys_failure(ESRCH);
    if (cpu && is_free(*cpu)) return *cpu;
  }
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (is_free(cpu)) return cpu;
  }
  return std::nullopt;
}

void Receiver::shrink() {
  reinforcement_.recall();
  // Where that fails the agent has moved us, and moves us again.
  placement::place_self(home_);
  pinned_to_.reset();
}

void Receiver::take_over(ServingThread& self) {
  Server& server = self.server;
  for (JournalSlot* slot : parts_.statistics.journal().unfinished(options_.tag)) {
    slot->left = 0;
    const PendingCall call = server.take_up(kernel::read_notification(slot->notification));
    const bool is_waiting = shared_->listener->is_waiting(call.notification.id);
    if (is_waiting && slot->is_poisonous()) {
      give_up(server, call);
    } else if (is_waiting && is_remote(call)) {
      ask_plugin(call, slot, self, slot->acting != 0);  // which releases it
      continue;
    } else if (is_waiting && slot->acting != 0 && !call.decision.repeatable) {
      server.refuse(call, EINTR);
    } else if (is_waiting && call.decision.needs == emulators::Needs::kFiles) {
      Journal::requeue(*slot);
      submit(call, slot);  // which releases it
      continue;
    } else if (is_waiting) {
      server.serve(call, nullptr);
    }
    Journal::release(*slot);
  }
}

void Receiver::give_up(Server& server, const PendingCall& call) {
  const std::size_t route = call.decision.route;
  parts_.report("a call of " +
                (route == Decision::kNoRoute
                     ? "number " + std::to_string(call.notification.nr)
                     : std::string(parts_.statistics.routes()[route].name.data())) +
                " is answered with EIO: workers died of it");
  parts_.statistics.header().poisonous.fetch_add(1, std::memory_order_relaxed);
  server.refuse(call, EIO);
}

void Receiver::submit(const PendingCall& call, JournalSlot* slot) {
  const auto serve = [shared = shared_, call, slot](const Acting& acting) {
    slot->acting = 1;
    shared->with_server(*acting.threads, [&](Server& server) { server.serve(call, &acting); });
    Journal::release(*slot);
  };
  const auto refuse = [shared = shared_, call, slot] {
    shared->refuse_beyond_limits(call);
    if (slot != nullptr) Journal::release(*slot);
  };
  if (slot == nullptr || !pool_.submit({.serve = serve, .refuse = refuse})) refuse();
}

void Receiver::ask_plugin(const PendingCall& call, JournalSlot* slot, ServingThread& self,
                          bool maybe_sent) {
  parts_.remote->begin(call, slot, shared_, self.threads, maybe_sent);
}

Turn Receiver::receive_one(ServingThread& self, pid_t& caller) {
  Server& server = self.server;
  const auto call = server.receive();
  if (call) {
    if (call->decision.needs != emulators::Needs::kFiles) {
      server.serve(*call, nullptr);
    } else {
      JournalSlot* const slot = parts_.statistics.journal().take(options_.tag);
      server.hand_on(slot);
      if (is_remote(*call)) {
        ask_plugin(*call, slot, self, false);
      } else {
        submit(*call, slot);
      }
    }
    caller = call->notification.tid;
    return Turn::kServed;
  }
  const int number = call.error().value;
  if (number == EINTR || number == ENOENT) {
    // ENOENT: the caller went between, or all of them did, for good.
    return shared_->listener->hung_up() ? Turn::kEnd : Turn::kNothing;
  }
  parts_.report("receiving from a listener failed with " + errno_name(number) +
                ": a security module or a filter forbids it");
  return Turn::kEnd;
}

}  // namespace sidecall::worker
