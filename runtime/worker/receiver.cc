#include "worker/receiver.h"

#include <cerrno>
#include <csignal>

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

}  // namespace

struct Receiver::Shared {
  std::unique_ptr<kernel::Listener> listener;
  kernel::NotificationSizes sizes;
};

Receiver::Receiver(const ServerParts& parts, std::unique_ptr<kernel::Listener> listener,
                   const kernel::SandboxNamespaces& namespaces, ActorPool& pool,
                   ReceiverOptions options)
    : parts_(parts),
      namespaces_(namespaces),
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

void Receiver::run() {
  const auto sizes = kernel::notification_sizes();
  if (!sizes) return parts_.report(sizes.error().message);
  shared_->sizes = *sizes;

  kernel::ThreadCache threads;
  KernelTargets targets(*shared_->listener, namespaces_, threads);
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
  pool_.submit([parts = parts_, shared = shared_, &namespaces = namespaces_, call,
                slot](const Acting& acting) {
    if (slot != nullptr) slot->acting = 1;
    KernelTargets targets(*shared->listener, namespaces, *acting.threads);
    Server server(parts, *shared->listener, targets, kernel::NotificationBuffer(shared->sizes));
    server.serve(call, &acting);
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
