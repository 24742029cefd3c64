// Latency against percentile. Both axes are logarithmic, the percentiles in calls per slower call,
// so that the tail, where schedulers show, has the room.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "cli/bench_report.h"

namespace sidecall::cli {
namespace {

constexpr double kWidth = 1000;
constexpr double kLeft = 64;
constexpr double kRight = 660;  // the legend stands beyond
constexpr double kTop = 56;
constexpr double kBottom = 500;
constexpr double kHeight = 556;
constexpr double kDecades = 4;  // 90 % is one decade, 99.99 % four
constexpr double kLegendLine = 18;

// Told apart by people who see colours differently, too.
constexpr std::array<std::string_view, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                      "#e69f00", "#56b4e9", "#000000", "#8c564b"};
constexpr std::array<std::string_view, 3> kDashes = {"none", "7 3", "2 3"};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

struct Range {
  double low;
  double high;
};

// Whole thirds of a decade (1, 2, 5, 10 …) around every time that is drawn.
std::vector<double> ticks(const Range& range) {
  std::vector<double> all;
  for (int decade = -2; decade < 7; ++decade) {
    for (const int step : {1, 2, 5}) all.push_back(step * std::pow(10, decade));
  }
  auto first = std::upper_bound(all.begin(), all.end(), range.low);
  if (first != all.begin()) --first;
  const auto last = std::lower_bound(first, all.end(), range.high);
  return {first, last == all.end() ? last : last + 1};
}

Range range_of(const std::vector<const BenchResult*>& curves) {
  Range range{.low = 1e9, .high = 0};
  for (const BenchResult* curve : curves) {
    range.low = std::min(range.low, curve->percentiles.front().second);
    range.high = std::max(range.high, curve->percentiles.back().second);
  }
  return {.low = std::max(range.low, 0.01), .high = std::max(range.high, 0.02)};
}

class Picture {
 public:
  explicit Picture(std::vector<const BenchResult*> curves)
      : curves_(std::move(curves)), ticks_(ticks(range_of(curves_))) {}

  std::string draw() {
    const double legend_end = kTop + kLegendLine * static_cast<double>(curves_.size() + 1);
    const double height = std::max(kHeight, legend_end);
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        "<text x=\"{2}\" y=\"28\" font-size=\"16\" fill=\"#111\">sidecall bench: time of a "
        "call</text>\n",
        kWidth, height, kLeft);
    draw_grid();
    for (std::size_t index = 0; index < curves_.size(); ++index) draw_curve(index);
    return text_ + "</svg>\n";
  }

 private:
  static double x_of(double share) {
    return kLeft + (kRight - kLeft) * std::min(-std::log10(1 - share), kDecades) / kDecades;
  }
  [[nodiscard]] double y_of(double microseconds) const {
    const double low = std::log(ticks_.front());
    const double high = std::log(ticks_.back());
    const double part = (std::log(std::max(microseconds, ticks_.front())) - low) / (high - low);
    return kBottom - (kBottom - kTop) * part;
  }

  void line(double x1, double y1, double x2, double y2) {
    text_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e2e2e2\"/>\n", x1,
        y1, x2, y2);
  }
  void label(double x, double y, std::string_view anchor, std::string_view words) {
    text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
                         anchor, escaped(words));
  }

  void draw_grid() {
    for (const double tick : ticks_) {
      line(kLeft, y_of(tick), kRight, y_of(tick));
      label(kLeft - 8, y_of(tick) + 4, "end", fmt::format("{:g}", tick));
    }
    for (const auto& [share, words] :
         {std::pair(0.0, "0"), std::pair(0.5, "50"), std::pair(0.9, "90"), std::pair(0.99, "99"),
          std::pair(0.999, "99.9"), std::pair(0.9999, "99.99")}) {
      line(x_of(share), kTop, x_of(share), kBottom);
      label(x_of(share), kBottom + 20, "middle", words);
    }
    label(kLeft, kTop - 10, "end", "\u00b5s");
    label((kLeft + kRight) / 2, kBottom + 42, "middle", "percentile of calls");
    label(kRight + 44, kTop - 10, "start", "median");
  }

  void draw_curve(std::size_t index) {
    const BenchResult& curve = *curves_[index];
    const std::string stroke = fmt::format(
        "fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-dasharray=\"{}\"",
        kColours[index % kColours.size()], kDashes[index / kColours.size() % kDashes.size()]);
    text_ += fmt::format("<polyline {} points=\"", stroke);
    double median = 0;
    for (const auto& [share, microseconds] : curve.percentiles) {
      text_ += fmt::format("{:.1f},{:.1f} ", x_of(share), y_of(microseconds));
      if (share <= 0.51) median = microseconds;
    }
    text_ += "\"/>\n";
    const double y = kTop + kLegendLine * (static_cast<double>(index) + 0.5);
    text_ += fmt::format("<path {} d=\"M{} {}h26\"/>\n", stroke, kRight + 12, y - 4);
    label(kRight + 84, y, "end", fmt::format("{:.2f}", median));
    label(kRight + 92, y, "start", curve.name);
  }

  std::vector<const BenchResult*> curves_;
  std::vector<double> ticks_;
  std::string text_;
};

}  // namespace

std::string bench_svg(const std::vector<BenchResult>& results) {
  std::vector<const BenchResult*> curves;
  for (const BenchResult& result : results) {
    if (!result.percentiles.empty()) curves.push_back(&result);
  }
  return Picture(std::move(curves)).draw();
}

}  // namespace sidecall::cli
