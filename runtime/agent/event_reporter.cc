#include "agent/event_reporter.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "kernel/abi.h"

namespace sidecall::agent {
namespace {

using emulators::VerdictKind;
using worker::EventRecord;

constexpr std::chrono::milliseconds kQuiet{500};
constexpr std::chrono::milliseconds kWatched{50};

v1::Event event_of(v1::Event::Kind kind, const SandboxView& sandbox) {
  v1::Event event;
  event.set_kind(kind);
  event.set_sandbox(sandbox.id);
  event.set_unix_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count());
  return event;
}

v1::Event::Kind kind_of(const EventRecord& record) {
  if (record.kind == EventRecord::Kind::kPrivileged) return v1::Event::PRIVILEGED_STEP;
  if (record.kind != EventRecord::Kind::kCall) return v1::Event::KIND_UNSPECIFIED;
  switch (record.verdict) {
    case VerdictKind::kErrno:
      return v1::Event::CALL_DENIED;
    case VerdictKind::kValue:
    case VerdictKind::kFd:
      return v1::Event::CALL_EMULATED;
    case VerdictKind::kContinue:
      return v1::Event::CALL_CONTINUED;
    case VerdictKind::kGone:
      break;
  }
  return v1::Event::KIND_UNSPECIFIED;
}

// For protobuf, which wants UTF-8, and for terminals.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

EventReporter::EventReporter(EventLoop& loop, const SnapshotBoard& board, EventHub& hub,
                             const Log& log)
    : loop_(loop), board_(board), hub_(hub), log_(log) {
  read_all();
}

void EventReporter::read_all() {
  for (const auto& view : board_.read()->sandboxes) read_calls(*view);
  timer_ = loop_.after(hub_.is_watched() ? kWatched : kQuiet, [this] { read_all(); });
}

void EventReporter::appeared(const SandboxView& sandbox) const {
  auto event = event_of(v1::Event::SANDBOX_APPEARED, sandbox);
  event.set_policy(sandbox.policy);
  hub_.publish(std::move(event));
}

void EventReporter::ended(const SandboxView& sandbox) const {
  read_calls(sandbox);
  hub_.publish(event_of(v1::Event::SANDBOX_ENDED, sandbox));
}

void EventReporter::worker_restarted(const SandboxView& sandbox) const {
  auto event = event_of(v1::Event::WORKER_RESTARTED, sandbox);
  event.set_worker_pid(sandbox.worker_pid);
  hub_.publish(std::move(event));
}

void EventReporter::policy_changed(const SandboxView& sandbox) const {
  auto event = event_of(v1::Event::POLICY_CHANGED, sandbox);
  event.set_policy(sandbox.policy);
  hub_.publish(std::move(event));
}

void EventReporter::cpus_changed(const SandboxView& sandbox) const {
  auto event = event_of(v1::Event::CPUS_CHANGED, sandbox);
  event.set_cpus(sandbox.cpus);
  hub_.publish(std::move(event));
}

void EventReporter::read_calls(const SandboxView& sandbox) const {
  if (sandbox.statistics == nullptr) return;
  auto ring = sandbox.statistics->events();
  for (const EventRecord& record : ring.drain()) tell(sandbox, record);
  const std::uint64_t lost = ring.take_lost();
  if (lost == 0) return;
  log_.warn("events lost: they came faster than they were read, or no agent was there",
            {{"sandbox", sandbox.id}, {"count", std::to_string(lost)}});
  auto event = event_of(v1::Event::EVENTS_LOST, sandbox);
  event.set_lost(lost);
  hub_.publish(std::move(event));
}

void EventReporter::tell(const SandboxView& sandbox, const EventRecord& record) const {
  const auto routes = sandbox.statistics->routes();
  const auto kind = kind_of(record);
  if (kind == v1::Event::KIND_UNSPECIFIED || record.route >= routes.size()) return;
  const worker::RouteStatistics& route = routes[record.route];
  const bool failed = record.verdict == VerdictKind::kErrno;
  const std::string name(route.name.data(), ::strnlen(route.name.data(), route.name.size()));
  const std::string error = failed ? errno_name(static_cast<int>(record.number)) : "";
  const std::string user =
      record.user == EventRecord::kNoUser ? "unknown" : std::to_string(record.user);
  if (kind == v1::Event::PRIVILEGED_STEP) {
    log_.audit("privileged step", {{"sandbox", sandbox.id},
                                   {"tid", std::to_string(record.tid)},
                                   {"uid", user},
                                   {"syscall", name},
                                   {"what", std::string(record.get_text())},
                                   {"verdict", failed ? error : "done"}});
  }
  auto event = event_of(kind, sandbox);
  event.set_unix_ns(static_cast<std::int64_t>(record.unix_ns));
  v1::CallEvent& call = *event.mutable_call();
  call.set_syscall(printable(name));
  call.set_abi(std::string(kernel::abi_name(static_cast<kernel::Abi>(route.abi))));
  call.set_tid(record.tid);
  if (record.user != EventRecord::kNoUser) call.set_uid(record.user);
  call.set_errno_name(error);
  if (!failed) call.set_value(record.number);
  call.set_what(printable(record.get_text()));
  hub_.publish(std::move(event));
}

}  // namespace sidecall::agent
