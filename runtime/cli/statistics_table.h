// Figures per system call, from wherever they are counted, as a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/statistics.h"

namespace sidecall::cli {

struct SyscallFigures {
  std::string name;
  std::string abi;
  std::uint64_t calls = 0;
  std::uint64_t continued = 0;
  std::uint64_t errnos = 0;
  std::uint64_t values = 0;
  std::uint64_t descriptors = 0;
  std::uint64_t gone = 0;
  std::uint64_t failures = 0;
  std::uint64_t p50_ns = 0;
  std::uint64_t p99_ns = 0;
};

[[nodiscard]] std::vector<SyscallFigures> figures_of(const worker::Statistics& statistics);

// Calls that were never made are left out, and so are kinds of answer that were never given.
[[nodiscard]] std::string statistics_table(const std::vector<SyscallFigures>& figures);

// "850ns", "2.1µs", "13ms", "2.0s".
[[nodiscard]] std::string short_duration(std::uint64_t nanoseconds);

}  // namespace sidecall::cli
