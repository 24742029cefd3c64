#include "cli/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/json_writer.h"
#include "cli/table.h"

namespace sidecall::cli {

double BenchResult::least() const {
  return *std::min_element(rounds.begin(), rounds.end());
}

double BenchResult::quantile(double share) const {
  std::vector<double> sorted = rounds;
  std::sort(sorted.begin(), sorted.end());
  const double last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(share * last))];
}

std::optional<double> ratio_of(const BenchResult& result, const std::vector<BenchResult>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const BenchResult& other) {
    return other.name == result.against;
  });
  if (found == all.end()) return std::nullopt;
  return result.median() / found->median();
}

std::string bench_table(const std::vector<BenchResult>& results) {
  using Align = Column::Align;
  Table table({{.heading = "ROW", .elastic = true},
               {.heading = "MEDIAN us", .align = Align::kRight},
               {.heading = "LEAST", .align = Align::kRight},
               {.heading = "SPREAD", .align = Align::kRight},
               {.heading = "CALLS/s", .align = Align::kRight},
               {.heading = "RATIO", .align = Align::kRight}});
  for (const BenchResult& result : results) {
    const auto ratio = ratio_of(result, results);
    // Half of the rounds lie within it.
    const double spread = (result.quantile(0.75) - result.quantile(0.25)) / result.median();
    table.add_row({result.name, fmt::format("{:.2f}", result.median()),
                   fmt::format("{:.2f}", result.least()), fmt::format("{:.0f}%", spread * 100),
                   fmt::format("{:.0f}", 1e6 / result.median()),
                   ratio ? fmt::format("{:.2f}", *ratio) : ""});
  }
  return table.render(kBenchWidth);
}

std::string bench_json(const std::vector<BenchResult>& results) {
  JsonWriter json;
  const auto number = [&](std::string_view key, double value) {
    json.key(key);
    json.number(value);
  };
  json.open_array();
  for (const BenchResult& result : results) {
    json.open_object();
    json.key("name");
    json.string(result.name);
    number("callers", result.callers);
    number("median_us", result.median());
    number("least_us", result.least());
    if (const auto ratio = ratio_of(result, results)) {
      json.key("against");
      json.string(result.against);
      number("ratio", *ratio);
    }
    json.key("rounds_us");
    json.open_array();
    for (const double round : result.rounds) json.number(round);
    json.close();
    json.key("percentiles");
    json.open_array();
    for (const auto& [share, microseconds] : result.percentiles) {
      json.open_object();
      number("share", share);
      number("us", microseconds);
      json.close();
    }
    json.close();
    json.close();
  }
  json.close();
  return json.take();
}

const std::vector<double>& bench_shares() {
  static const std::vector<double> kShares = [] {
    std::vector<double> shares;
    constexpr int kPerDecade = 20;
    for (int step = 0; step <= 4 * kPerDecade; ++step) {
      shares.push_back(1 - std::pow(10, -static_cast<double>(step) / kPerDecade));
    }
    return shares;
  }();
  return kShares;
}

}  // namespace sidecall::cli
