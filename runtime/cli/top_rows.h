// What happened between two looks at the agent's figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/table.h"
#include "sidecall/v1/agent.pb.h"

namespace sidecall::cli {

// One system call of a sandbox. Counts are of the time between the looks.
struct TopCall {
  std::string name;
  std::string abi;
  std::uint64_t calls = 0;
  std::uint64_t done = 0;  // values and descriptors
  std::uint64_t errnos = 0;
  std::uint64_t continued = 0;
  std::uint64_t p50_ns = 0;  // since the sandbox's first worker started
  std::uint64_t p99_ns = 0;
};

struct TopSandbox {
  std::string id;
  std::string policy;
  std::string cpus;
  std::string sync;
  std::int32_t worker_pid = 0;
  std::vector<TopCall> calls;  // those that were ever made, the busiest first
  [[nodiscard]] std::uint64_t total() const;
};

struct Top {
  double seconds = 1;                 // between the looks
  std::vector<TopSandbox> sandboxes;  // the busiest first
};

// A sandbox that was not there before, or whose figures began anew, counts from nothing.
[[nodiscard]] Top top_between(const v1::GetStatisticsResponse& before,
                              const v1::GetStatisticsResponse& after, double seconds);

// A heading and a line per sandbox and call, at most `lines` of them. Of answers: per cent.
[[nodiscard]] std::string top_table(const Top& top, std::size_t lines,
                                    std::size_t width = kTerminalWidth);
[[nodiscard]] std::string top_json(const Top& top);

}  // namespace sidecall::cli
