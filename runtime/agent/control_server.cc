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
// A client that has stopped, and would keep a stream for ever, is hung up on.
constexpr int kKeepaliveMs = 60 * 1000;
constexpr int kKeepaliveTimeoutMs = 20 * 1000;
constexpr std::chrono::seconds kShutdownGrace{1};

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::start(const SnapshotBoard& board,
                                                            DrainSwitch& drain, EventHub& hub,
                                                            std::function<void(bool)> drained,
                                                            PolicySetter set_policy) {
  std::unique_ptr<ControlServer> made(new ControlServer);
  // No call comes before serve() has brought a connection.
  made->service_ = std::make_unique<AgentService>(
      board, drain, hub,
      [server = made.get(), drained = std::move(drained)](bool on) {
        server->set_health(!on);
        drained(on);
      },
      std::move(set_policy));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ResourceQuota quota("sidecalld");
  quota.SetMaxThreads(kMostThreads);
  quota.Resize(kMemoryBytes);
  grpc::ServerBuilder builder;
  builder.RegisterService(made->service_.get());
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kMostRequestBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMostIdleMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  made->server_ = builder.BuildAndStart();
  if (made->server_ == nullptr) return failure("gRPC server: could not start");
  made->set_health(!drain.is_on());
  return made;
}

void ControlServer::set_health(bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(serving);
  server_->GetHealthCheckService()->SetServingStatus("sidecall.v1.Agent", serving);
}

ControlServer::~ControlServer() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
}

bool ControlServer::serve(UniqueFd connection) {
  if (connections_.open() >= kMostConnections) return false;
  connections_.add(connection.get());
  grpc::AddInsecureChannelFromFd(server_.get(), connection.release());
  return true;
}

}  // namespace sidecall::agent
