// The output of a short-lived program.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace sidecall::cli {

// Standard output of the program, which is looked up in PATH, and which exited with 0. At most
// 64 KiB are read, and it is killed where it takes longer than `timeout`. Its standard error and
// input are /dev/null.
[[nodiscard]] Result<std::string> capture(
    std::vector<std::string> command, std::chrono::milliseconds timeout = std::chrono::seconds(5));

}  // namespace sidecall::cli
