// What every sub-command of `sidecall` shares, and the list of them.
#pragma once

#include <string>
#include <string_view>

#include "base/paths.h"
#include "base/result.h"

namespace sidecall::cli {

class CommandLine;

// What stands before the sub-command. Both directories are absolute once an action runs.
struct Context {
  std::string run_directory{kDefaultRunDirectory};
  std::string policy_directory{kDefaultPolicyDirectory};
};

// Each adds its sub-command to `line`. `context` is filled in before an action runs, and outlives
// `line`.
void add_run(CommandLine& line, const Context& context);
void add_bundle(CommandLine& line, const Context& context);
void add_profile(CommandLine& line, const Context& context);
void add_check(CommandLine& line, const Context& context);
void add_ls(CommandLine& line, const Context& context);
void add_stats(CommandLine& line, const Context& context);
void add_top(CommandLine& line, const Context& context);
void add_policy(CommandLine& line, const Context& context);
void add_events(CommandLine& line, const Context& context);
void add_drain(CommandLine& line, const Context& context);
void add_emulators(CommandLine& line, const Context& context);
void add_doctor(CommandLine& line, const Context& context);
void add_completion(CommandLine& line, const Context& context);
void add_bench(CommandLine& line, const Context& context);

// Exit status of every failure but those of the command line itself (2).
inline constexpr int kFailed = 1;

// Says "sidecall: LINE" on standard error.
void say(std::string_view line);
// Says why, and returns kFailed.
[[nodiscard]] int fail(const Error& error);

// To standard output, through a buffer: main() finds out whether it was taken.
void print(std::string_view text);

}  // namespace sidecall::cli
