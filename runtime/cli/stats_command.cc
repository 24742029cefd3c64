// sidecall stats: what was served, per sandbox and system call.
#include <memory>

#include "cli/agent_client.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/sandbox_table.h"

namespace sidecall::cli {
namespace {

struct StatsOptions {
  std::string id;
  bool as_json = false;
};

int stats(const StatsOptions& options, const Context& context) {
  auto statistics = AgentClient(context.run_directory).find_statistics(options.id);
  if (!statistics) return fail(statistics.error());
  if (options.as_json) {
    auto json = to_json(*statistics);
    if (!json) return fail(json.error());
    print(*json);
    return 0;
  }
  bool is_first = true;
  for (const v1::Sandbox& sandbox : statistics->sandboxes()) {
    if (!std::exchange(is_first, false)) print("\n");
    print(sandbox_report(sandbox));
  }
  if (is_first) print("no sandbox is served\n");
  return 0;
}

}  // namespace

void add_stats(CommandLine& line, const Context& context) {
  const auto options = std::make_shared<StatsOptions>();
  line.command("stats", "Show calls and latencies per sandbox and syscall")
      .text("ID", options->id, "A sandbox, or the start of its id (default: all)")
      .flag("--json", options->as_json, "JSON, as sidecall.v1.GetStatisticsResponse")
      .footer("Example: sidecall stats web1")
      .action([&context, options] { return stats(*options, context); });
}

}  // namespace sidecall::cli
