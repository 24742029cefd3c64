// What every sub-command of `sidecall` shares, and the list of them.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <string>

#include "base/paths.h"
#include "base/result.h"

namespace sidecall::cli {

struct Context {
  std::string run_directory{kDefaultRunDirectory};
  std::string policy_directory{kDefaultPolicyDirectory};
  // Set by the sub-command that was chosen; returns the program's exit status.
  std::function<int()> action;
};

// Each adds its sub-command to `app`. `context` outlives `app`.
void add_run(CLI::App& app, Context& context);
void add_bundle(CLI::App& app, Context& context);
void add_profile(CLI::App& app, Context& context);
void add_check(CLI::App& app, Context& context);
void add_ls(CLI::App& app, Context& context);
void add_stats(CLI::App& app, Context& context);
void add_emulators(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);

// Exit status of every failure but those of the command line itself (2).
inline constexpr int kFailed = 1;

// Says "sidecall: LINE" on standard error.
void say(std::string_view line);
// Says why, and returns kFailed.
[[nodiscard]] int fail(const Error& error);

// To standard output, through a buffer: main() finds out whether it was taken.
void print(std::string_view text);

}  // namespace sidecall::cli
