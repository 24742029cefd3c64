#include "worker/server.h"

#include <ctime>
#include <optional>

#include "placement/placement.h"

namespace sidecall::worker {
namespace {

using emulators::Outcome;
using emulators::Rule;
using emulators::Verdict;
using emulators::VerdictKind;

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

constexpr auto kRelaxed = std::memory_order_relaxed;

// Of calls that never sleep a thread times one in so many: two looks at the clock are a part of
// what they take, and a histogram is one more place for CPUs to contend for.
constexpr unsigned kTimedOneIn = 16;

VerdictKind kind_of(const Outcome& outcome) {
  return outcome ? static_cast<VerdictKind>(outcome->index()) : VerdictKind::kErrno;
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

PendingCall Server::take_up(const kernel::Notification& notification) {
  PendingCall call{.notification = notification,
                   .decision = parts_.dispatcher.decide(notification)};
  const bool may_sleep = call.decision.needs == emulators::Needs::kFiles;
  if (may_sleep || taken_up_++ % kTimedOneIn == 0) call.received_ns = now_ns();
  return call;
}

void Server::serve(const PendingCall& call, const Acting* acting) {
  if (call.decision.emulator == nullptr) {
    answer_as_declared(call);
  } else if (call.decision.repeatable || parts_.made_once == nullptr) {
    answer(call, outcome_of(call, acting, false));
  } else {
    serve_once(call, acting);
  }
  buffer_.forget();
}

void Server::serve_once(const PendingCall& call, const Acting* acting) {
  const bool made_before = parts_.made_once->begin(call.notification);
  const auto outcome = outcome_of(call, acting, made_before);
  const bool was_done = outcome && std::holds_alternative<emulators::Value>(*outcome);
  const bool was_answered = answer(call, outcome);
  parts_.made_once->end(call.notification, was_done, was_answered);
}

void Server::serve_by(const PendingCall& call,
                      FunctionRef<emulators::Outcome(kernel::Target&)> act) {
  const auto outcome = targets_.with_target(call.notification, act);
  if (is_out_of_reach(outcome)) {
    answer(call, Verdict(emulators::Continue{}));
  } else {
    answer(call, outcome);
  }
}

void Server::refuse(const PendingCall& call, int errno_value) {
  answer(call, Verdict(Errno{errno_value}));
}

void Server::refuse_beyond_limits(const PendingCall& call) {
  // The counter outlives the worker.
  if (parts_.statistics.header().refused.fetch_add(1, kRelaxed) == 0) {
    parts_.report(
        "more calls than the policy's limits allow at once, or for too long: those beyond get "
        "EAGAIN and are counted (refused_calls)");
  }
  refuse(call, EAGAIN);
}

void Server::hand_on(JournalSlot* slot) {
  if (slot != nullptr) Journal::record(*slot, buffer_.received());
  buffer_.forget();
}

Outcome Server::outcome_of(const PendingCall& call, const Acting* acting, bool made_before) {
  const Decision& decision = call.decision;
  auto outcome = targets_.with_target(call.notification, [&](kernel::Target& target) {
    std::optional<WatchedHelper> watched;
    emulators::Helper* helper = acting != nullptr ? acting->helper.get() : nullptr;
    if (helper != nullptr && parts_.events != nullptr) {
      helper = &watched.emplace(*helper, *parts_.events,
                                WatchedHelper::Caller{.route = decision.route,
                                                      .tid = call.notification.tid,
                                                      .target = target,
                                                      .emulator = *decision.emulator});
    }
    emulators::Environment environment{.target = target,
                                       .sandbox = parts_.sandbox,
                                       .actor = acting != nullptr ? acting->actor.get() : nullptr,
                                       .helper = helper,
                                       .launcher = acting != nullptr ? acting->launcher : nullptr,
                                       .instance = decision.instance,
                                       .made_before = made_before};
    return decision.emulator->emulate(decision.call, environment);
  });
  return is_out_of_reach(outcome) ? Outcome(emulators::Continue{}) : std::move(outcome);
}

// The path that the cost per call is about: from RECV to SEND nothing but a look-up and a store.
void Server::answer_as_declared(const PendingCall& call) {
  const Decision& decision = call.decision;
  kernel::Response response{.id = call.notification.id};
  VerdictKind kind = VerdictKind::kContinue;
  if (decision.action == Rule::Action::kErrno) {
    response.errno_value = static_cast<int>(decision.number);
    kind = VerdictKind::kErrno;
  } else if (decision.action == Rule::Action::kValue) {
    response.value = decision.number;
    kind = VerdictKind::kValue;
  } else {
    response.proceed = true;
  }
  const auto sent = listener_.reply(response, buffer_);
  count(call, kind, sent.has_value(), decision.number);
}

bool Server::answer(const PendingCall& call, const Outcome& outcome) {
  kernel::Response response{.id = call.notification.id};
  if (is_gone(outcome) && !listener_.is_waiting(response.id)) {
    count(call, VerdictKind::kGone, false, 0);
    return false;
  }
  if (!outcome) {
    parts_.report(outcome.error().message);
    count_failure(call);
    response.errno_value = EIO;
  } else if (std::holds_alternative<emulators::Continue>(*outcome)) {
    response.proceed = true;
  } else if (const auto* number = std::get_if<Errno>(&*outcome)) {
    response.errno_value = number->value;
  } else if (const auto* value = std::get_if<emulators::Value>(&*outcome)) {
    response.value = value->value;
  } else if (const auto* file = std::get_if<emulators::Fd>(&*outcome)) {
    // One step where caller and worker share their only CPU (Linux 5.14). Else two are the faster:
    // the one step wakes the caller without the hint that keeps it here.
    const auto add = [&](bool answers) {
      return listener_.add_fd(response.id, file->fd.get(), file->cloexec, answers);
    };
    const bool in_one_step = placement::own_cpus().count() == 1;
    auto added = add(in_one_step);
    if (added && in_one_step) {
      count(call, kind_of(outcome), true, *added);
      return true;
    }
    if (in_one_step && added.error().value == EINVAL) added = add(false);
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
  count(call, kind_of(outcome), sent.has_value(),
        response.errno_value != 0 ? response.errno_value : response.value);
  return sent.has_value();
}

void Server::count(const PendingCall& call, VerdictKind kind, bool answered, std::int64_t number) {
  StatisticsHeader& header = parts_.statistics.header();
  if (!answered) header.stale.fetch_add(1, kRelaxed);
  if (call.decision.route == Decision::kNoRoute) {
    header.unrouted.fetch_add(1, kRelaxed);
    return;
  }
  RouteStatistics& route = parts_.statistics.routes()[call.decision.route];
  route.calls.fetch_add(1, kRelaxed);
  route.verdicts[static_cast<std::size_t>(kind)].fetch_add(1, kRelaxed);
  if (call.received_ns != 0) route.latency.record(now_ns() - call.received_ns);
  if (parts_.events != nullptr && parts_.events->wants(kind)) {
    parts_.events->call(call.decision.route, call.notification.tid, kind, number);
  }
}

void Server::count_failure(const PendingCall& call) {
  if (call.decision.route == Decision::kNoRoute) return;
  parts_.statistics.routes()[call.decision.route].failures.fetch_add(1, kRelaxed);
}

}  // namespace sidecall::worker
