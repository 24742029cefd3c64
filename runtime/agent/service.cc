#include "agent/service.h"

#include <algorithm>
#include <cstring>
#include <future>
#include <memory>
#include <string>

#include "agent/watch_stream.h"
#include "emulators/verdict.h"
#include "kernel/abi.h"

namespace sidecall::agent {
namespace {

using emulators::VerdictKind;

v1::Sandbox::State state_of(SandboxState state) {
  switch (state) {
    case SandboxState::kExpected:
      return v1::Sandbox::STATE_EXPECTED;
    case SandboxState::kServing:
      return v1::Sandbox::STATE_SERVING;
    case SandboxState::kEnding:
      break;
  }
  return v1::Sandbox::STATE_ENDING;
}

v1::SyncWakeUp sync_of(worker::SyncState state) {
  switch (state) {
    case worker::SyncState::kOn:
      return v1::SYNC_WAKE_UP_ON;
    case worker::SyncState::kOff:
      return v1::SYNC_WAKE_UP_OFF;
    case worker::SyncState::kUnavailable:
      return v1::SYNC_WAKE_UP_UNAVAILABLE;
    case worker::SyncState::kUnknown:
      break;
  }
  return v1::SYNC_WAKE_UP_UNSPECIFIED;
}

void describe(const SandboxView& view, v1::Sandbox& out) {
  using std::chrono::milliseconds;
  out.set_id(view.id);
  out.set_state(state_of(view.state));
  out.set_bundle(view.bundle);
  out.set_policy(view.policy);
  out.set_pid(view.pid);
  out.set_worker_pid(view.worker_pid);
  out.set_cpus(view.cpus);
  out.set_listeners(view.listeners);
  out.set_since_unix_ms(
      std::chrono::duration_cast<milliseconds>(view.since.time_since_epoch()).count());
  out.set_worker_restarts(view.worker_restarts);
  if (view.statistics == nullptr) return;
  const worker::StatisticsHeader& header = view.statistics->header();
  out.set_sync_wake_up(sync_of(header.sync.load(std::memory_order_relaxed)));
  out.set_stale_calls(header.stale.load(std::memory_order_relaxed));
  out.set_unrouted_calls(header.unrouted.load(std::memory_order_relaxed));
  out.set_poisonous_calls(header.poisonous.load(std::memory_order_relaxed));
  out.set_refused_calls(header.refused.load(std::memory_order_relaxed));
}

void describe_call(const worker::RouteStatistics& route, v1::SyscallStatistics& out) {
  const auto verdicts = [&](VerdictKind kind) {
    return route.verdicts[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  };
  out.set_name(std::string(route.name.data(), ::strnlen(route.name.data(), route.name.size())));
  out.set_abi(std::string(kernel::abi_name(static_cast<kernel::Abi>(route.abi))));
  out.set_calls(route.calls.load(std::memory_order_relaxed));
  out.set_continued(verdicts(VerdictKind::kContinue));
  out.set_errnos(verdicts(VerdictKind::kErrno));
  out.set_values(verdicts(VerdictKind::kValue));
  out.set_descriptors(verdicts(VerdictKind::kFd));
  out.set_gone(verdicts(VerdictKind::kGone));
  out.set_failures(route.failures.load(std::memory_order_relaxed));
  out.set_latency_p50_ns(route.latency.quantile(0.5));
  out.set_latency_p99_ns(route.latency.quantile(0.99));
}

void describe_calls(const SandboxView& view, v1::Sandbox& out) {
  if (view.statistics == nullptr) return;
  for (const worker::RouteStatistics& route : view.statistics->routes()) {
    describe_call(route, *out.add_syscalls());
  }
}

constexpr std::chrono::milliseconds kLookInterval{100};  // whether the client is still there

grpc::Status not_found(const std::string& id) {
  return {grpc::StatusCode::NOT_FOUND, "no sandbox \"" + id + "\""};
}

}  // namespace

grpc::Status AgentService::ListSandboxes(grpc::ServerContext* /*context*/,
                                         const v1::ListSandboxesRequest* /*request*/,
                                         v1::ListSandboxesResponse* response) {
  const auto snapshot = board_.read();  // for as long as the loop runs
  for (const auto& view : snapshot->sandboxes) describe(*view, *response->add_sandboxes());
  return grpc::Status::OK;
}

grpc::Status AgentService::GetSandbox(grpc::ServerContext* /*context*/,
                                      const v1::GetSandboxRequest* request, v1::Sandbox* response) {
  const auto snapshot = board_.read();
  // From the newest on: an ending sandbox may share its id with the one that came after it.
  const auto found = std::find_if(snapshot->sandboxes.rbegin(), snapshot->sandboxes.rend(),
                                  [&](const auto& view) { return view->id == request->id(); });
  if (found == snapshot->sandboxes.rend()) return not_found(request->id());
  describe(**found, *response);
  describe_calls(**found, *response);
  for (const auto& [key, value] : (*found)->annotations) {
    (*response->mutable_annotations())[key] = value;
  }
  return grpc::Status::OK;
}

grpc::Status AgentService::GetStatistics(grpc::ServerContext* /*context*/,
                                         const v1::GetStatisticsRequest* request,
                                         v1::GetStatisticsResponse* response) {
  const auto snapshot = board_.read();
  for (const auto& view : snapshot->sandboxes) {
    if (!request->id().empty() && view->id != request->id()) continue;
    v1::Sandbox& sandbox = *response->add_sandboxes();
    describe(*view, sandbox);
    describe_calls(*view, sandbox);
  }
  if (!request->id().empty() && response->sandboxes().empty()) return not_found(request->id());
  return grpc::Status::OK;
}

grpc::Status AgentService::Drain(grpc::ServerContext* /*context*/, const v1::DrainRequest* request,
                                 v1::DrainResponse* response) {
  if (const auto set = drain_.set(!request->undo()); !set) {
    return {grpc::StatusCode::UNAVAILABLE, set.error().message};
  }
  drained_(drain_.is_on());
  response->set_draining(drain_.is_on());
  response->set_sandboxes(static_cast<std::uint32_t>(board_.read()->sandboxes.size()));
  return grpc::Status::OK;
}

grpc::Status AgentService::SetPolicy(grpc::ServerContext* context,
                                     const v1::SetPolicyRequest* request,
                                     v1::SetPolicyResponse* response) {
  auto policy = policy::parse_policy(request->name(), request->json());
  if (!policy) return {grpc::StatusCode::INVALID_ARGUMENT, policy.error().message};
  const auto snapshot = board_.read();
  const bool is_known = std::any_of(snapshot->sandboxes.begin(), snapshot->sandboxes.end(),
                                    [&](const auto& view) { return view->id == request->id(); });
  if (!is_known) return not_found(request->id());
  // Shared with the answer, which may come when nobody waits for it any more.
  const auto answered = std::make_shared<std::promise<Result<std::vector<std::string>>>>();
  auto outcome = answered->get_future();
  set_policy_(request->id(), *std::move(policy),
              [answered](auto notes) { answered->set_value(std::move(notes)); });
  while (outcome.wait_for(kLookInterval) != std::future_status::ready) {
    if (context->IsCancelled()) return grpc::Status::CANCELLED;
  }
  const auto notes = outcome.get();
  if (!notes) return {grpc::StatusCode::FAILED_PRECONDITION, notes.error().message};
  for (const std::string& note : *notes) response->add_notes(note);
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<v1::Event>* AgentService::Watch(grpc::CallbackServerContext* /*context*/,
                                                         const v1::WatchRequest* request) {
  return start_watch_stream(hub_, board_, *request);
}

}  // namespace sidecall::agent
