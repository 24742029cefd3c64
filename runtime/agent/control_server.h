// The agent's gRPC server.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "agent/connection_count.h"
#include "agent/drain_switch.h"
#include "agent/event_hub.h"
#include "agent/policy_setter.h"
#include "agent/snapshot.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace grpc {
class Server;
}

namespace sidecall::agent {

class AgentService;

// sidecall.v1.Agent and grpc.health.v1.Health, on connections that others accept: gRPC's C++ server
// does not tell who its peer is, so that is found out before it gets to see one. Serves on threads
// of its own and reads only the board.
class ControlServer {
 public:
  // All must outlive it. `drained` is called, on a thread of gRPC's, when the switch is set.
  [[nodiscard]] static Result<std::unique_ptr<ControlServer>> start(
      const SnapshotBoard& board, DrainSwitch& drain, EventHub& hub,
      std::function<void(bool)> drained, PolicySetter set_policy);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  // Ends calls that are still running.
  ~ControlServer();

  static constexpr std::size_t kMostConnections = 64;

  // A connected, non-blocking stream socket of a trusted peer. Closes it, and gives false, where
  // there are too many. From one thread.
  bool serve(UniqueFd connection);

 private:
  ControlServer() = default;
  void set_health(bool serving);
  std::unique_ptr<AgentService> service_;
  std::unique_ptr<grpc::Server> server_;
  ConnectionCount connections_;
};

}  // namespace sidecall::agent
