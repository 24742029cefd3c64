// sidecall-runtime: an OCI runtime that puts chosen containers under sidecall and leaves the work
// to crun or runc.
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/paths.h"
#include "oci_runtime/invocation.h"
#include "oci_runtime/own_options.h"
#include "oci_runtime/preparation.h"
#include "oci_runtime/real_runtime.h"
#include "oci_runtime/report.h"

namespace {

using namespace sidecall;
using namespace sidecall::oci_runtime;

// Returns only where that fails.
int become(const std::string& runtime, std::span<char* const> words, const Invocation& invocation) {
  std::string name = runtime;
  std::vector<char*> arguments = {name.data()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  arguments.push_back(nullptr);
  ::execv(runtime.c_str(), arguments.data());
  say_failure("starting " + runtime + ": " + errno_name(errno), invocation);
  return 1;
}

int run(const OwnOptions& options, const char* own_name, std::span<char* const> words) {
  const Invocation invocation = read_invocation(words);
  auto runtime = find_runtime(options.runtime, own_name, kRuntimePath);
  if (!runtime) {
    say_failure(runtime.error().message, invocation);
    return 1;
  }
  if (invocation.creates) {
    const auto notes = prepare(options, invocation, program_path("sidecall-hook"));
    if (!notes) {
      say_failure(notes.error().message, invocation);
      return 1;
    }
    for (const std::string& note : *notes) say(note);
  }
  return become(*runtime, words, invocation);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  const auto after_name = words.subspan(words.empty() ? 0 : 1);
  const auto options = read_own_options(after_name);
  if (!options) {
    say(options.error().message + "; see sidecall-runtime --sidecall-help");
    return 2;
  }
  switch (options->wish) {
    case OwnOptions::Wish::kHelp:
      return write_fd(STDOUT_FILENO, kUsage) ? 0 : 1;
    case OwnOptions::Wish::kVersion:
      return write_fd(STDOUT_FILENO, "sidecall-runtime " SIDECALL_VERSION "\n") ? 0 : 1;
    case OwnOptions::Wish::kRun:
      break;
  }
  return run(*options, words.empty() ? "" : words.front(), after_name.subspan(options->words));
}
