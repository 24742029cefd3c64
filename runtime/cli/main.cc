// sidecall: the command line.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "cli/command.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  using namespace sidecall::cli;
  Context context;
  CLI::App app("Serves the system calls that a container may not make itself.", "sidecall");
  app.set_version_flag("--version", "sidecall " SIDECALL_VERSION);
  app.add_option("--run-dir", context.run_directory, "Where sidecalld has its sockets")
      ->capture_default_str();
  app.add_option("--policy-dir", context.policy_directory, "Where policies are, as NAME.json")
      ->capture_default_str();
  app.require_subcommand(0, 1);
  app.fallthrough();
  std::function<int()> action;
  CommandLine line(app, action);
  for (const auto add :
       {add_run, add_bundle, add_profile, add_check, add_ls, add_stats, add_top, add_events,
        add_policy, add_drain, add_emulators, add_doctor, add_bench, add_completion}) {
    add(line, context);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    say(std::string(error.what()) + "; see sidecall --help");
    return 2;
  }
  if (!action) {
    say("which command? see sidecall --help");
    return 2;
  }
  // Both end up in files that other programs read from directories of their own.
  for (std::string* directory : {&context.run_directory, &context.policy_directory}) {
    std::error_code ignored;  // there is no working directory: the path stays as it is
    const auto full = std::filesystem::absolute(*directory, ignored).lexically_normal();
    if (!ignored) *directory = full;
  }
  const int status = action();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    say(std::string("standard output: ") + std::strerror(errno));
    return kFailed;
  }
  return status;
}
