// The node agent, put together.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/log.h"
#include "agent/message_intake.h"
#include "agent/metrics_server.h"
#include "agent/registry.h"
#include "base/result.h"

namespace sidecall::agent {

struct AgentOptions {
  std::string run_directory;
  std::string keeper_path;  // the sidecall-keeper program
  RegistryOptions registry;
  IntakeLimits intake;
  std::optional<MetricsAddress> metrics_address{};  // none: nobody is told
  Metrics::Options metrics{};
};

class Agent {
 public:
  // Takes the run directory, takes over what an agent before it has left there, opens its sockets
  // and serves gRPC; run() does the rest. SIGTERM and SIGINT must be blocked in every thread.
  // `host` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<Agent>> start(const AgentOptions& options, Host& host,
                                                            Log log);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  // Workers serve on without it, and what comes to its sockets waits for the next.
  ~Agent();

  // Until SIGTERM or SIGINT.
  [[nodiscard]] Result<void> run();

 private:
  struct Parts;
  explicit Agent(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sidecall::agent
