// sidecall.v1.Agent: what the sandboxes are and what their calls cost.
#pragma once

#include "agent/snapshot.h"
#include "sidecall/v1/agent.grpc.pb.h"

namespace sidecall::agent {

// Called on gRPC's threads; shares nothing but the board, which must outlive it.
class AgentService final : public v1::Agent::Service {
 public:
  explicit AgentService(const SnapshotBoard& board) : board_(board) {}

  grpc::Status ListSandboxes(grpc::ServerContext* context, const v1::ListSandboxesRequest* request,
                             v1::ListSandboxesResponse* response) override;
  grpc::Status GetSandbox(grpc::ServerContext* context, const v1::GetSandboxRequest* request,
                          v1::Sandbox* response) override;
  grpc::Status GetStatistics(grpc::ServerContext* context, const v1::GetStatisticsRequest* request,
                             v1::GetStatisticsResponse* response) override;

 private:
  const SnapshotBoard& board_;
};

}  // namespace sidecall::agent
