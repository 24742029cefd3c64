// What shells need to know to complete a command line of `sidecall`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sidecall::cli {

// A command as its parser has it.
struct CommandTree {
  struct Option {
    std::vector<std::string> names;  // "-f", "--follow"
    std::string help;
    bool takes_value = false;
  };
  std::string name;
  std::string help;
  std::vector<Option> options;
  bool takes_sandbox = false;  // as its positional argument
  std::vector<CommandTree> commands;
};

// A script to be sourced by `shell`: "bash", "zsh" or "fish". Every command, option and sandbox
// that is served is completed; the rest are files.
[[nodiscard]] Result<std::string> completion_script(const CommandTree& program,
                                                    std::string_view shell);

}  // namespace sidecall::cli
