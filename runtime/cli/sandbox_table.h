// Sandboxes as people read them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "sidecall/v1/agent.pb.h"

namespace sidecall::cli {

// One line per sandbox, within 80 columns. `now` is what ages are counted to.
[[nodiscard]] std::string sandbox_table(const v1::ListSandboxesResponse& sandboxes,
                                        std::chrono::system_clock::time_point now);

// A heading, what is worth saying about the sandbox as a whole, and its figures per system call.
[[nodiscard]] std::string sandbox_report(const v1::Sandbox& sandbox);

// "on", "off", "none", "?".
[[nodiscard]] std::string_view sync_name(v1::SyncWakeUp sync);

}  // namespace sidecall::cli
