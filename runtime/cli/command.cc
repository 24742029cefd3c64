#include "cli/command.h"

#include <unistd.h>

#include <cstdio>

#include "base/file.h"

namespace sidecall::cli {

void say(std::string_view line) {
  // A message that cannot be written is lost: there is nowhere left to say so.
  (void)write_fd(STDERR_FILENO, std::string("sidecall: ").append(line).append("\n"));
}

int fail(const Error& error) {
  say(error.message);
  return kFailed;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace sidecall::cli
