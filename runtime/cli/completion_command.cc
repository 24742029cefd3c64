// sidecall completion: for shells.
#include <memory>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/completion.h"

namespace sidecall::cli {
namespace {

int completion(const std::string& shell, const CommandLine& program) {
  const auto script = completion_script(program.tree(), shell);
  if (!script) return fail(script.error());
  print(*script);
  return 0;
}

}  // namespace

void add_completion(CommandLine& line, const Context& /*context*/) {
  const auto shell = std::make_shared<std::string>();
  line.command("completion", "Print a script that completes command lines of sidecall")
      .required("SHELL", *shell, "bash, zsh or fish")
      .footer("Example: source <(sidecall completion bash)")
      .action([program = line, shell] { return completion(*shell, program); });
}

}  // namespace sidecall::cli
