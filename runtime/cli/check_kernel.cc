#include <unistd.h>

#include "base/paths.h"
#include "cli/checks.h"
#include "kernel/features.h"

namespace sidecall::cli {

std::vector<Check> check_kernel() {
  using enum Check::State;
  std::vector<Check> checks;
  for (kernel::Feature& feature : kernel::probe_features()) {
    checks.push_back({.state = feature.present    ? kGood
                               : feature.required ? kMissing
                                                  : kAdvice,
                      .name = std::move(feature.name),
                      .detail = std::move(feature.detail)});
  }
  const std::string worker = program_path("sidecall-worker");
  const bool is_there = ::access(worker.c_str(), X_OK) == 0;
  checks.push_back({.state = is_there ? kGood : kMissing,
                    .name = "worker program",
                    .detail = is_there ? worker : worker + " is not there; install sidecall anew"});
  return checks;
}

}  // namespace sidecall::cli
