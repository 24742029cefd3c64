// sidecall ls: the sandboxes that the agent knows.
#include <memory>

#include "cli/agent_client.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/sandbox_table.h"

namespace sidecall::cli {
namespace {

int ls(bool as_json, const Context& context) {
  auto sandboxes = AgentClient(context.run_directory).list();
  if (!sandboxes) return fail(sandboxes.error());
  if (!as_json) {
    print(sandbox_table(*sandboxes, std::chrono::system_clock::now()));
    return 0;
  }
  auto json = to_json(*sandboxes);
  if (!json) return fail(json.error());
  print(*json);
  return 0;
}

}  // namespace

void add_ls(CommandLine& line, const Context& context) {
  const auto as_json = std::make_shared<bool>(false);
  line.command("ls", "List the sandboxes that are served")
      .flag("--json", *as_json, "JSON, as sidecall.v1.ListSandboxesResponse")
      .footer("Example: sidecall ls")
      .action([&context, as_json] { return ls(*as_json, context); });
}

}  // namespace sidecall::cli
