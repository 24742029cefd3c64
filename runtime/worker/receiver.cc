#include "worker/receiver.h"

#include <cerrno>
#include <csignal>

#include "kernel/privileges.h"

namespace sidecall::worker {
namespace {

class KernelTargets final : public TargetSource {
 public:
  KernelTargets(kernel::Listener& listener, const kernel::SandboxNamespaces& namespaces)
      : listener_(listener), namespaces_(namespaces) {}

  emulators::Outcome with_target(
      const kernel::Notification& notification,
      const std::function<emulators::Outcome(kernel::Target&)>& act) override {
    kernel::KernelTarget target(listener_, namespaces_, notification.id, notification.tid);
    return act(target);
  }

 private:
  kernel::Listener& listener_;
  const kernel::SandboxNamespaces& namespaces_;
};

}  // namespace

struct Receiver::Shared {
  std::unique_ptr<kernel::Listener> listener;
  kernel::NotificationSizes sizes;
  kernel::SandboxNamespaces namespaces;
};

Receiver::Receiver(const ServerParts& parts, std::unique_ptr<kernel::Listener> listener,
                   ActorPool& pool, ReceiverOptions options)
    : parts_(parts),
      pool_(pool),
      options_(std::move(options)),
      shared_(std::make_shared<Shared>()) {
  shared_->listener = std::move(listener);
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

Result<void> Receiver::look_at_sandbox() {
  if (options_.join_uts) {
    // Not fatal: names that the policy does not replace are then looked up call by call.
    static_cast<void>(kernel::join_uts_namespace(options_.first_pid));
  }
  auto namespaces = kernel::sandbox_namespaces(options_.first_pid);
  if (!namespaces) {
    return errno_failure(
        "looking at the sandbox's first process " + std::to_string(options_.first_pid),
        namespaces.error().value);
  }
  shared_->namespaces = std::move(*namespaces);
  return {};
}

void Receiver::run() {
  const auto sizes = kernel::notification_sizes();
  if (!sizes) return parts_.report(sizes.error().message);
  shared_->sizes = *sizes;
  if (parts_.dispatcher.needs_targets()) {
    if (auto known = look_at_sandbox(); !known) return parts_.report(known.error().message);
  }

  KernelTargets targets(*shared_->listener, shared_->namespaces);
  JournalSlot* const slot = parts_.statistics.journal().take(options_.tag);
  Server server(parts_, *shared_->listener, targets,
                slot != nullptr ? kernel::NotificationBuffer(shared_->sizes, slot->notification)
                                : kernel::NotificationBuffer(shared_->sizes));
  take_over(server);
  receive_all(server);
  if (slot != nullptr) Journal::release(*slot);
}

void Receiver::take_over(Server& server) {
  for (JournalSlot* slot : parts_.statistics.journal().unfinished(options_.tag)) {
    const PendingCall call = server.take_up(kernel::read_notification(slot->notification));
    const bool is_waiting = shared_->listener->is_waiting(call.notification.id);
    if (is_waiting && slot->acting != 0 && !call.decision.repeatable) {
      server.refuse(call, EINTR);
    } else if (is_waiting && call.decision.needs == emulators::Needs::kFiles) {
      submit(call, slot);  // which releases it
      continue;
    } else if (is_waiting) {
      server.serve(call, nullptr);
    }
    Journal::release(*slot);
  }
}

void Receiver::submit(const PendingCall& call, JournalSlot* slot) {
  pool_.submit([parts = parts_, shared = shared_, call, slot](kernel::Actor& actor) {
    if (slot != nullptr) slot->acting = 1;
    KernelTargets targets(*shared->listener, shared->namespaces);
    Server server(parts, *shared->listener, targets, kernel::NotificationBuffer(shared->sizes));
    server.serve(call, &actor);
    if (slot != nullptr) Journal::release(*slot);
  });
}

void Receiver::receive_all(Server& server) {
  Journal journal = parts_.statistics.journal();
  for (;;) {
    const auto call = server.receive();
    if (call) {
      if (call->decision.needs != emulators::Needs::kFiles) {
        server.serve(*call, nullptr);
        continue;
      }
      JournalSlot* const slot = journal.take(options_.tag);
      server.hand_on(slot);
      submit(*call, slot);
      continue;
    }
    const int number = call.error().value;
    if (number == EINTR || number == ENOENT) {
      // ENOENT: the caller went between, or all of them did, for good.
      if (shared_->listener->hung_up()) return;
      continue;
    }
    return parts_.report("receiving from a listener failed with " + errno_name(number) +
                         ": a security module or a filter forbids it");
  }
}

}  // namespace sidecall::worker
