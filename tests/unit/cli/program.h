// Running the `sidecall` program as a person would.
#pragma once

#include <string>

namespace sidecall::cli {

struct Ending {
  int status = -1;  // as the shell gives it
  std::string output;
  std::string errors;
};

// `words` are the shell's. Standard input is /dev/null.
[[nodiscard]] Ending run_sidecall(const std::string& words);

// That it failed with `status`, saying one line with `part` in it.
void expect_one_line(const Ending& ending, int status, const std::string& part);

}  // namespace sidecall::cli
