// What a command takes, and what it then does.
//
// CLI11 is behind this and nowhere else in the sub-commands: it is headers only, so that each file
// that includes it compiles all of it again, many times what the file itself costs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/completion.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}

namespace sidecall::cli {

// A command, as CLI11 has it. Every value that is named here outlives the parsing. A name without
// dashes is that of a positional argument; a value that is not empty is shown as the default.
class CommandLine {
 public:
  // `chosen` receives the action of the command that was chosen. Both outlive this.
  CommandLine(CLI::App& app, std::function<int()>& chosen) : app_(&app), chosen_(&chosen) {}

  [[nodiscard]] CommandLine command(const std::string& name, const std::string& help);
  // A command that only has commands below it, one of which must follow.
  [[nodiscard]] CommandLine group(const std::string& name, const std::string& help);

  CommandLine& text(const std::string& name, std::string& value, const std::string& help);
  CommandLine& required(const std::string& name, std::string& value, const std::string& help);
  // Everything that is left, at least one word.
  CommandLine& words(const std::string& name, std::vector<std::string>& values,
                     const std::string& help);
  // May be given many times, one value each; `kind` says in the help what a value is.
  CommandLine& repeatable(const std::string& name, const std::string& kind,
                          std::vector<std::string>& values, const std::string& help);
  // Anything outside least..most is a usage error.
  CommandLine& number(const std::string& name, int& value, int least, int most,
                      const std::string& help);
  CommandLine& flag(const std::string& name, bool& value, const std::string& help);
  CommandLine& footer(const std::string& text);

  // This command and all below it, as far as they have been declared.
  [[nodiscard]] CommandTree tree() const;

  // Returns the program's exit status. Called after parsing, if this command was chosen.
  void action(std::function<int()> run);

 private:
  CLI::App* app_;
  std::function<int()>* chosen_;
};

}  // namespace sidecall::cli
