// sidecall drain: no new containers on this node.
#include <fmt/format.h>

#include <memory>

#include "cli/agent_client.h"
#include "cli/command.h"
#include "cli/command_line.h"

namespace sidecall::cli {
namespace {

int drain(bool undo, const Context& context) {
  const auto drained = AgentClient(context.run_directory).drain(undo);
  if (!drained) return fail(drained.error());
  print(fmt::format("new containers are {}; {} served to their end\n",
                    drained->draining() ? "refused" : "taken", drained->sandboxes()));
  return 0;
}

}  // namespace

void add_drain(CommandLine& line, const Context& context) {
  const auto undo = std::make_shared<bool>(false);
  line.command("drain", "Refuse new containers; serve those that are there to their end")
      .flag("--undo", *undo, "Take new containers again")
      .footer("Until undone, or the machine starts again. Example: sidecall drain")
      .action([&context, undo] { return drain(*undo, context); });
}

}  // namespace sidecall::cli
