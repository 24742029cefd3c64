#include "cli/agent_client.h"
#include "cli/checks.h"
#include "oci_hook/agent_link.h"

namespace sidecall::cli {

std::vector<Check> check_agent(const Context& context) {
  using enum Check::State;
  // The two roles have sockets of their own: hooks need one, people the other.
  Check hooks{.state = kGood, .name = "agent, for hooks", .detail = "answers"};
  if (auto pong = oci_hook::AgentLink(context.run_directory).ping(); !pong) {
    hooks.state = kAdvice;
    hooks.detail = pong.error().error.message;
  }
  Check control{.state = kGood, .name = "agent, for control", .detail = {}};
  if (auto sandboxes = AgentClient(context.run_directory).list()) {
    control.detail = "answers; sandboxes: " + std::to_string(sandboxes->sandboxes_size());
  } else {
    control.state = kAdvice;
    control.detail = sandboxes.error().message;
  }
  return {hooks, control};
}

}  // namespace sidecall::cli
