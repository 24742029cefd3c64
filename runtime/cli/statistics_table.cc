#include "cli/statistics_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cli/table.h"
#include "kernel/abi.h"

namespace sidecall::cli {

std::vector<SyscallFigures> figures_of(const worker::Statistics& statistics) {
  using emulators::VerdictKind;
  std::vector<SyscallFigures> figures;
  for (const worker::RouteStatistics& route : statistics.routes()) {
    const auto count = [&](VerdictKind kind) {
      return route.verdicts[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
    };
    figures.push_back({.name = route.name.data(),
                       .abi = std::string(kernel::abi_name(static_cast<kernel::Abi>(route.abi))),
                       .calls = route.calls.load(std::memory_order_relaxed),
                       .continued = count(VerdictKind::kContinue),
                       .errnos = count(VerdictKind::kErrno),
                       .values = count(VerdictKind::kValue),
                       .descriptors = count(VerdictKind::kFd),
                       .gone = count(VerdictKind::kGone),
                       .failures = route.failures.load(std::memory_order_relaxed),
                       .p50_ns = route.latency.quantile(0.5),
                       .p99_ns = route.latency.quantile(0.99)});
  }
  return figures;
}

std::string short_duration(std::uint64_t nanoseconds) {
  if (nanoseconds < 1000) return fmt::format("{}ns", nanoseconds);
  static constexpr std::array<std::string_view, 3> kUnits = {"µs", "ms", "s"};
  double value = static_cast<double>(nanoseconds) / 1000;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, value < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string statistics_table(const std::vector<SyscallFigures>& figures) {
  using enum Column::Align;
  struct Count {
    std::string_view heading;
    std::uint64_t SyscallFigures::*value;
  };
  std::vector<Count> counts = {
      {"CONT", &SyscallFigures::continued}, {"ERRNO", &SyscallFigures::errnos},
      {"VALUE", &SyscallFigures::values},   {"FD", &SyscallFigures::descriptors},
      {"GONE", &SyscallFigures::gone},      {"FAIL", &SyscallFigures::failures}};
  std::erase_if(counts, [&](const Count& count) {
    return std::all_of(figures.begin(), figures.end(),
                       [&](const SyscallFigures& row) { return row.*count.value == 0; });
  });

  std::vector<Column> columns = {{"SYSCALL", kLeft, true}, {"ABI", kLeft}, {"CALLS", kRight}};
  for (const Count& count : counts) columns.push_back({std::string(count.heading), kRight});
  columns.insert(columns.end(), {{"P50", kRight}, {"P99", kRight}});
  Table table(std::move(columns));
  for (const SyscallFigures& row : figures) {
    if (row.calls == 0) continue;
    std::vector<std::string> cells = {row.name, row.abi, std::to_string(row.calls)};
    for (const Count& count : counts) cells.push_back(std::to_string(row.*count.value));
    cells.insert(cells.end(), {short_duration(row.p50_ns), short_duration(row.p99_ns)});
    table.add_row(std::move(cells));
  }
  return table.empty() ? "no call was notified\n" : table.render();
}

}  // namespace sidecall::cli
