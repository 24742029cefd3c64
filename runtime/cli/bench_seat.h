// Where a row of `sidecall bench` runs: caller and supervisor of a row are always placed alike.
#pragma once

#include <string>

#include "base/result.h"
#include "placement/placement.h"

namespace sidecall::cli {

// A cpu cgroup for the two sides of one row, as a container and its worker have. Without one the
// scheduler takes a worker, which has a session of its own, for another group than its caller, and
// every call changes groups twice. Removed at the end.
class BenchCgroup {
 public:
  // Empty path where the cpu controller is not ours to use: the row then has none.
  [[nodiscard]] static BenchCgroup make(const std::string& name);
  BenchCgroup() = default;
  BenchCgroup(BenchCgroup&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  BenchCgroup& operator=(BenchCgroup&& other) noexcept {
    path_.swap(other.path_);
    return *this;
  }
  ~BenchCgroup();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sidecall::cli
