// What `sidecall bench` found, for people and for programs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sidecall::cli {

inline constexpr std::size_t kBenchWidth = 100;

// One row. Times in microseconds a call, of all callers together.
struct BenchResult {
  std::string name;
  std::string against{};  // empty: held against nothing
  int callers = 1;
  std::vector<double> rounds{};  // at least one, the mean of each round
  // (share, microseconds), ascending, of single calls; empty where none were timed
  std::vector<std::pair<double, double>> percentiles{};

  [[nodiscard]] double least() const;
  [[nodiscard]] double median() const { return quantile(0.5); }
  [[nodiscard]] double quantile(double share) const;
};

// The median of `result` over that of the row that it names; none where that row is not there.
[[nodiscard]] std::optional<double> ratio_of(const BenchResult& result,
                                             const std::vector<BenchResult>& all);

[[nodiscard]] std::string bench_table(const std::vector<BenchResult>& results);
[[nodiscard]] std::string bench_json(const std::vector<BenchResult>& results);
// A picture: latency against percentile, a curve for each row that has percentiles.
[[nodiscard]] std::string bench_svg(const std::vector<BenchResult>& results);

// The shares at which a distribution is looked at: closer and closer to 1.
[[nodiscard]] const std::vector<double>& bench_shares();

}  // namespace sidecall::cli
