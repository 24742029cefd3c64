// sidecall run: a command under a policy.
#include <memory>

#include "cli/base_profile.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/policy_argument.h"
#include "cli/run.h"

namespace sidecall::cli {
namespace {

struct RunOptions {
  std::string policy;
  BaseProfile base;
  bool show_statistics = false;
  std::vector<std::string> command;
};

int run_command(const RunOptions& options, const Context& context) {
  auto policy = options.policy.empty() ? embedded_policy()
                                       : find_policy(options.policy, context.policy_directory);
  auto base = load_base_profile(options.base);
  if (!base) {
    say(base.error().message);
  } else if (policy) {
    auto status = run({.command = options.command,
                       .policy = *std::move(policy),
                       .base = *std::move(base),
                       .show_statistics = options.show_statistics});
    if (status) return *status;
    say(status.error().message);
  } else {
    say(policy.error().message);
  }
  return kRunFailed;
}

}  // namespace

void add_run(CommandLine& line, const Context& context) {
  const auto options = std::make_shared<RunOptions>();
  auto running = line.command("run", "Run a command under a policy, without an engine");
  take_base_profile(running, options->base);
  running
      .text("--policy", options->policy,
            "A file, or a name in the policy directory (default: a built-in policy)")
      .flag("--stats", options->show_statistics, "Show what was served, on standard error")
      .words("COMMAND", options->command, "The command and its arguments, after --")
      .footer(
          "Exits as the command does: its status, or 128 + N where signal N ended it; 125 "
          "where sidecall\nfailed, 126 or 127 where the command could not be started.\n"
          "Example: sidecall run --stats -- uname -a")
      .action([&context, options] { return run_command(*options, context); });
}

}  // namespace sidecall::cli
