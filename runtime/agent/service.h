// sidecall.v1.Agent: what the sandboxes are and what their calls cost.
#pragma once

#include <functional>
#include <utility>

#include "agent/drain_switch.h"
#include "agent/event_hub.h"
#include "agent/policy_setter.h"
#include "agent/snapshot.h"
#include "sidecall/v1/agent.grpc.pb.h"

namespace sidecall::agent {

// Called on gRPC's threads; shares nothing but the board, the switch and the hub, which must
// outlive it. A stream holds no thread, hence the callback.
class AgentService final : public v1::Agent::WithCallbackMethod_Watch<v1::Agent::Service> {
 public:
  // `drained` is called with the switch's new position.
  // `set_policy` is Registry's, by way of the loop.
  AgentService(const SnapshotBoard& board, DrainSwitch& drain, EventHub& hub,
               std::function<void(bool)> drained, PolicySetter set_policy)
      : board_(board),
        drain_(drain),
        hub_(hub),
        drained_(std::move(drained)),
        set_policy_(std::move(set_policy)) {}

  grpc::Status ListSandboxes(grpc::ServerContext* context, const v1::ListSandboxesRequest* request,
                             v1::ListSandboxesResponse* response) override;
  grpc::Status GetSandbox(grpc::ServerContext* context, const v1::GetSandboxRequest* request,
                          v1::Sandbox* response) override;
  grpc::Status GetStatistics(grpc::ServerContext* context, const v1::GetStatisticsRequest* request,
                             v1::GetStatisticsResponse* response) override;
  grpc::Status Drain(grpc::ServerContext* context, const v1::DrainRequest* request,
                     v1::DrainResponse* response) override;
  grpc::Status SetPolicy(grpc::ServerContext* context, const v1::SetPolicyRequest* request,
                         v1::SetPolicyResponse* response) override;
  grpc::ServerWriteReactor<v1::Event>* Watch(grpc::CallbackServerContext* context,
                                             const v1::WatchRequest* request) override;

 private:
  const SnapshotBoard& board_;
  DrainSwitch& drain_;
  EventHub& hub_;
  std::function<void(bool)> drained_;
  PolicySetter set_policy_;
};

}  // namespace sidecall::agent
