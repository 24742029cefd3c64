// What this kernel can do for a supervisor, found by trying it.
#pragma once

#include <string>
#include <vector>

namespace sidecall::kernel {

struct Feature {
  std::string name;  // "sync wake-up"
  bool present = false;
  bool required = false;
  std::string detail;  // what follows from it, or the errno that said no and the way out
};

// Tries each feature in a short-lived child process with a filter of its own. Takes milliseconds;
// for start-up and `sidecall doctor`.
[[nodiscard]] std::vector<Feature> probe_features();

}  // namespace sidecall::kernel
