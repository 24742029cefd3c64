// sidecall run: a command under a policy.
#include <memory>

#include "cli/command.h"
#include "cli/policy_argument.h"
#include "cli/run.h"

namespace sidecall::cli {
namespace {

struct RunOptions {
  std::string policy;
  bool show_statistics = false;
  std::vector<std::string> command;
};

int run_command(const RunOptions& options, const Context& context) {
  auto policy = options.policy.empty() ? embedded_policy()
                                       : find_policy(options.policy, context.policy_directory);
  if (policy) {
    auto status = run({.command = options.command,
                       .policy = *std::move(policy),
                       .show_statistics = options.show_statistics});
    if (status) return *status;
    say(status.error().message);
  } else {
    say(policy.error().message);
  }
  return kRunFailed;
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  const auto options = std::make_shared<RunOptions>();
  auto* command = app.add_subcommand("run", "Run a command under a policy, without an engine");
  command->add_option("--policy", options->policy,
                      "A file, or a name in the policy directory (default: a built-in policy)");
  command->add_flag("--stats", options->show_statistics, "Show what was served, on standard error");
  command->add_option("COMMAND", options->command, "The command and its arguments, after --")
      ->required();
  command->footer(
      "Exits as the command does: its status, or 128 + N where signal N ended it; 125 "
      "where sidecall\nfailed, 126 or 127 where the command could not be started.\n"
      "Example: sidecall run --stats -- uname -a");
  command->callback([&context, options] {
    context.action = [&context, options] { return run_command(*options, context); };
  });
}

}  // namespace sidecall::cli
