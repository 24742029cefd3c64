#include "worker/server.h"

#include <ctime>

namespace sidecall::worker {
namespace {

using emulators::Outcome;
using emulators::Rule;
using emulators::Verdict;

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

Verdict declared(const Decision& decision) {
  switch (decision.action) {
    case Rule::Action::kErrno:
      return Errno{static_cast<int>(decision.number)};
    case Rule::Action::kValue:
      return emulators::Value{decision.number};
    case Rule::Action::kContinue:
    case Rule::Action::kEmulate:
      break;
  }
  return emulators::Continue{};
}

// A target that has gone answers ESRCH to every look at it.
bool is_gone(const Outcome& outcome) {
  if (!outcome) return false;
  if (std::holds_alternative<emulators::Gone>(*outcome)) return true;
  const Errno* number = std::get_if<Errno>(&*outcome);
  return number != nullptr && number->value == ESRCH;
}

bool is_out_of_reach(const Outcome& outcome) {
  const Errno* number = outcome ? std::get_if<Errno>(&*outcome) : nullptr;
  return number != nullptr && number->value == kernel::kOutOfReach;
}

}  // namespace

SysResult<PendingCall> Server::receive() {
  const auto notification = listener_.receive(buffer_);
  if (!notification) return tl::unexpected<Errno>(notification.error());
  return take_up(*notification);
}

PendingCall Server::take_up(const kernel::Notification& notification) const {
  return PendingCall{.notification = notification,
                     .decision = parts_.dispatcher.decide(notification),
                     .received_ns = now_ns()};
}

void Server::serve(const PendingCall& call, const Acting* acting) {
  answer(call, outcome_of(call, acting));
  buffer_.forget();
}

void Server::refuse(const PendingCall& call, int errno_value) {
  answer(call, Verdict(Errno{errno_value}));
}

void Server::hand_on(JournalSlot* slot) {
  if (slot != nullptr) Journal::record(*slot, buffer_.received());
  buffer_.forget();
}

Outcome Server::outcome_of(const PendingCall& call, const Acting* acting) {
  const Decision& decision = call.decision;
  if (decision.emulator == nullptr) return declared(decision);
  auto outcome = targets_.with_target(call.notification, [&](kernel::Target& target) {
    emulators::Environment environment{.target = target,
                                       .sandbox = parts_.sandbox,
                                       .actor = acting != nullptr ? acting->actor.get() : nullptr,
                                       .helper = acting != nullptr ? acting->helper.get() : nullptr,
                                       .instance = decision.instance};
    return decision.emulator->emulate(decision.call, environment);
  });
  return is_out_of_reach(outcome) ? Outcome(emulators::Continue{}) : std::move(outcome);
}

void Server::answer(const PendingCall& call, const Outcome& outcome) {
  kernel::Response response{.id = call.notification.id};
  if (is_gone(outcome) && !listener_.is_waiting(response.id)) {
    count(call, Verdict(emulators::Gone{}), false);
    return;
  }
  if (!outcome) {
    parts_.report(outcome.error().message);
    response.errno_value = EIO;
  } else if (std::holds_alternative<emulators::Continue>(*outcome)) {
    response.proceed = true;
  } else if (const auto* number = std::get_if<Errno>(&*outcome)) {
    response.errno_value = number->value;
  } else if (const auto* value = std::get_if<emulators::Value>(&*outcome)) {
    response.value = value->value;
  } else if (const auto* file = std::get_if<emulators::Fd>(&*outcome)) {
    const auto added = listener_.add_fd(response.id, file->fd.get(), file->cloexec);
    if (added) {
      response.value = *added;
    } else {
      response.errno_value = added.error().value;
    }
  } else {
    // Gone, says the emulator, and yet it waits: nothing was done for it, so this is no success.
    response.errno_value = EIO;
  }
  const auto sent = listener_.reply(response, buffer_);
  count(call, outcome, sent.has_value());
}

void Server::count(const PendingCall& call, const Outcome& outcome, bool answered) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  StatisticsHeader& header = parts_.statistics.header();
  if (!answered) header.stale.fetch_add(1, kRelaxed);
  if (call.decision.route == Decision::kNoRoute) {
    header.unrouted.fetch_add(1, kRelaxed);
    return;
  }
  RouteStatistics& route = parts_.statistics.routes()[call.decision.route];
  const auto kind = outcome ? static_cast<emulators::VerdictKind>(outcome->index())
                            : emulators::VerdictKind::kErrno;
  route.calls.fetch_add(1, kRelaxed);
  route.verdicts[static_cast<std::size_t>(kind)].fetch_add(1, kRelaxed);
  if (!outcome) route.failures.fetch_add(1, kRelaxed);
  route.latency.record(now_ns() - call.received_ns);
}

}  // namespace sidecall::worker
