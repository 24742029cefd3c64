// The node agent, put together.
#pragma once

#include <memory>
#include <string>

#include "agent/log.h"
#include "agent/message_intake.h"
#include "agent/registry.h"
#include "base/result.h"

namespace sidecall::agent {

struct AgentOptions {
  std::string run_directory;
  RegistryOptions registry;
  IntakeLimits intake;
};

class Agent {
 public:
  // Takes the run directory, opens its sockets and serves gRPC; run() does the rest. SIGTERM and
  // SIGINT must be blocked in every thread. `host` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<Agent>> start(const AgentOptions& options, Host& host,
                                                            Log log);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  // Takes the sockets' names away. Workers serve on without it.
  ~Agent();

  // Until SIGTERM or SIGINT.
  [[nodiscard]] Result<void> run();

 private:
  struct Parts;
  explicit Agent(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sidecall::agent
