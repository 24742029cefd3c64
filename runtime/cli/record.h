// Running a command to see what it calls.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/recording.h"

namespace sidecall::cli {

// Runs the command to the end of all that it has started, each of its calls noted and left to the
// kernel: it does what it would do without us, more slowly. Gives its exit status as run() does.
// As long as it runs this process keeps SIGINT, SIGTERM and SIGHUP to itself; the caller has one
// thread.
[[nodiscard]] Result<int> record(const std::vector<std::string>& command, Recording& recording);

}  // namespace sidecall::cli
