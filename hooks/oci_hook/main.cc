// sidecall-hook: standard input and output around the stages.
#include <unistd.h>

#include <filesystem>
#include <span>

#include "base/file.h"
#include "oci_hook/messages.h"
#include "oci_hook/stages.h"

namespace {

using namespace sidecall;
using namespace sidecall::oci_hook;

Result<std::string> read_input() {
  if (::isatty(STDIN_FILENO) != 0) {
    return failure(
        "standard input is a terminal; a container engine runs this hook and pipes "
        "JSON into it");
  }
  auto input = read_fd(STDIN_FILENO, kLongestInput);
  if (!input) return pass_on(std::move(input), "standard input");
  if (input->empty()) return failure("standard input is empty; an engine gives JSON there");
  return input;
}

// A container that has ended is not kept waiting: what an agent that is away does not hear now, it
// finds out by itself.
Patience patience_of(const Arguments& arguments) {
  if (arguments.action == Action::kPoststop) return {.answer = std::chrono::milliseconds(1000)};
  return {.absence = arguments.wait};
}

int run(const Arguments& arguments) {
  auto input = read_input();
  if (!input) {
    say_failure(input.error().message);
    return 1;
  }
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    say("/proc/self/exe: " + error.message());
    return 1;
  }
  const AgentLink agent(arguments.run_directory, patience_of(arguments));
  const Outcome outcome =
      arguments.action == Action::kPrecreate       ? precreate(arguments, agent, self, *input)
      : arguments.action == Action::kCreateRuntime ? create_runtime(agent, *input)
                                                   : poststop(agent, *input);
  for (const std::string& line : outcome.lines) {
    outcome.exit_status == 0 ? say(line) : say_failure(line);
  }
  if (auto written = write_fd(STDOUT_FILENO, outcome.output); !written) {
    say("standard output: " + written.error().message);
    return 1;
  }
  return outcome.exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  auto arguments = parse_arguments(words.subspan(argc > 0 ? 1 : 0));
  if (!arguments) {
    say(arguments.error().message + "; see sidecall-hook --help");
    return 2;
  }
  switch (arguments->action) {
    case Action::kHelp:
      return write_fd(STDOUT_FILENO, kUsage) ? 0 : 1;
    case Action::kVersion:
      return write_fd(STDOUT_FILENO, "sidecall-hook " SIDECALL_VERSION "\n") ? 0 : 1;
    default:
      return run(*arguments);
  }
}
