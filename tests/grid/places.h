// The three places on this machine, without a container engine: cases run as root in namespaces of
// their own, in a user-namespaced sandbox, and in one that a real sidecall-worker serves.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "grid/transcript.h"

namespace sidecall::grid {

struct RunRequest {
  int program = -1;          // descriptor of a program with the mode `run-cases`; the caller's
  std::string_view policy;   // text of a policy file, for run_on()
  bool wants_image = false;  // see Grid
  std::string only;          // cases whose name has this in it; empty: all
};

// Each needs root. The error is trouble with the place, never a case's.
[[nodiscard]] Result<Transcript> run_native(const RunRequest& request);
[[nodiscard]] Result<Transcript> run_off(const RunRequest& request);
[[nodiscard]] Result<Transcript> run_on(const RunRequest& request);

}  // namespace sidecall::grid
