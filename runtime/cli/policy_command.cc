// sidecall policy: what is decided about running containers.
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "cli/agent_client.h"
#include "cli/command.h"
#include "cli/command_line.h"

namespace sidecall::cli {
namespace {

struct PolicyOptions {
  std::string id;
  std::string policy;
};

// As find_policy() has it: a file, or a name.
std::string path_of(const std::string& policy, const std::string& directory) {
  const bool is_file = policy.find('/') != std::string::npos || policy.ends_with(".json");
  return is_file ? policy : in_directory(directory, policy + ".json");
}

int set(const PolicyOptions& options, const Context& context) {
  const std::string path = path_of(options.policy, context.policy_directory);
  auto json = read_file(path);
  if (!json) return fail(json.error());
  const AgentClient agent(context.run_directory);
  auto sandboxes = agent.list();
  if (!sandboxes) return fail(sandboxes.error());
  auto id = find_id(*sandboxes, options.id);
  if (!id) return fail(id.error());
  v1::SetPolicyRequest request;
  request.set_id(*id);
  request.set_name(std::filesystem::path(path).stem());
  request.set_json(*std::move(json));
  const auto response = agent.set_policy(request);
  if (!response) return fail(response.error());
  for (const std::string& note : response->notes()) say("note: " + note);
  return 0;
}

}  // namespace

void add_policy(CommandLine& line, const Context& context) {
  const auto options = std::make_shared<PolicyOptions>();
  line.group("policy", "Change what is decided about running containers")
      .command("set", "Put a running container under another policy")
      .required("ID", options->id, "A sandbox, or the start of its id")
      .required("POLICY", options->policy, "A file, or a name in the policy directory")
      .footer(
          "Calls in flight are finished under the old policy; what comes meanwhile waits. The "
          "container's\nseccomp filter stays as it is: calls that it does not hand over, which "
          "are named, are decided as\nbefore. Until the container ends; the next one gets what "
          "its annotation says.\nExample: sidecall policy set web1 ./strict.json")
      .action([&context, options] { return set(*options, context); });
}

}  // namespace sidecall::cli
