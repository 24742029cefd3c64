// Whether a sandbox calls so much that it pays to have its worker close by.
#pragma once

#include <cstdint>

namespace sidecall::agent {

class BusyWatch {
 public:
  static constexpr std::uint64_t kMany = 1000;  // calls between two looks make a sandbox busy
  static constexpr std::uint64_t kFew = 100;    // fewer, four looks long, and it no longer is
  static constexpr int kPatience = 4;

  // At each look: `calls` counts up from the worker's start. Whether the sandbox is busy.
  bool note(std::uint64_t calls);
  [[nodiscard]] bool is_busy() const { return busy_; }

 private:
  std::uint64_t last_ = 0;
  int quiet_ = 0;
  bool busy_ = false;
};

}  // namespace sidecall::agent
