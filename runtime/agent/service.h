// sidecall.v1.Agent: what the sandboxes are and what their calls cost.
#pragma once

#include <functional>
#include <utility>

#include "agent/drain_switch.h"
#include "agent/snapshot.h"
#include "sidecall/v1/agent.grpc.pb.h"

namespace sidecall::agent {

// Called on gRPC's threads; shares nothing but the board and the switch, which must outlive it.
class AgentService final : public v1::Agent::Service {
 public:
  // `drained` is called with the switch's new position.
  AgentService(const SnapshotBoard& board, DrainSwitch& drain, std::function<void(bool)> drained)
      : board_(board), drain_(drain), drained_(std::move(drained)) {}

  grpc::Status ListSandboxes(grpc::ServerContext* context, const v1::ListSandboxesRequest* request,
                             v1::ListSandboxesResponse* response) override;
  grpc::Status GetSandbox(grpc::ServerContext* context, const v1::GetSandboxRequest* request,
                          v1::Sandbox* response) override;
  grpc::Status GetStatistics(grpc::ServerContext* context, const v1::GetStatisticsRequest* request,
                             v1::GetStatisticsResponse* response) override;
  grpc::Status Drain(grpc::ServerContext* context, const v1::DrainRequest* request,
                     v1::DrainResponse* response) override;

 private:
  const SnapshotBoard& board_;
  DrainSwitch& drain_;
  std::function<void(bool)> drained_;
};

}  // namespace sidecall::agent
