#include "agent/control_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <utility>

#include "agent/service.h"

namespace sidecall::agent {
namespace {

// Requests hold a container id, answers every sandbox of the node.
constexpr int kMostRequestBytes = 64 << 10;
constexpr int kMostMetadataBytes = 8 << 10;
constexpr int kMostStreams = 64;
constexpr int kMostThreads = 16;
constexpr int kMemoryBytes = 64 << 20;
constexpr int kMostIdleMs = 10 * 60 * 1000;
constexpr std::chrono::seconds kShutdownGrace{1};

}  // namespace

ControlServer::ControlServer(std::unique_ptr<AgentService> service,
                             std::unique_ptr<grpc::Server> server)
    : service_(std::move(service)), server_(std::move(server)) {}

Result<std::unique_ptr<ControlServer>> ControlServer::start(const SnapshotBoard& board) {
  auto service = std::make_unique<AgentService>(board);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ResourceQuota quota("sidecalld");
  quota.SetMaxThreads(kMostThreads);
  quota.Resize(kMemoryBytes);
  grpc::ServerBuilder builder;
  builder.RegisterService(service.get());
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kMostRequestBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMostIdleMs);
  auto server = builder.BuildAndStart();
  if (server == nullptr) return failure("gRPC server: could not start");
  server->GetHealthCheckService()->SetServingStatus(true);
  server->GetHealthCheckService()->SetServingStatus("sidecall.v1.Agent", true);
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(service), std::move(server)));
}

ControlServer::~ControlServer() {
  server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
}

void ControlServer::serve(UniqueFd connection) {
  grpc::AddInsecureChannelFromFd(server_.get(), connection.release());
}

}  // namespace sidecall::agent
