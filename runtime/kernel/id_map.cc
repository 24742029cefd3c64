#include "kernel/id_map.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace sidecall::kernel {
namespace {

// A number of the line, and the rest of it; empty where there is none.
std::optional<std::uint32_t> take_number(std::string_view& line) {
  const auto start = line.find_first_not_of(' ');
  if (start == std::string_view::npos) return std::nullopt;
  line.remove_prefix(start);
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(parsed.ptr - line.data()));
  return number;
}

}  // namespace

Result<IdMap> IdMap::parse(std::string_view text) {
  IdMap map;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::array<std::uint32_t, 3> numbers{};
    for (std::uint32_t& number : numbers) {
      const auto taken = take_number(line);
      if (!taken) return failure("an id map has a line that is not three numbers");
      number = *taken;
    }
    if (line.find_first_not_of(' ') != std::string_view::npos) {
      return failure("an id map has a line of more than three numbers");
    }
    map.extents_.push_back({.inside = numbers[0], .outside = numbers[1], .count = numbers[2]});
  }
  return map;
}

IdMap IdMap::identity() {
  IdMap map;
  map.extents_.push_back({.inside = 0, .outside = 0, .count = UINT32_MAX});
  return map;
}

std::optional<std::uint32_t> IdMap::outside(std::uint32_t inside) const {
  for (const Extent& extent : extents_) {
    // Unsigned: what lies below the extent becomes too large.
    if (inside - extent.inside < extent.count) return extent.outside + (inside - extent.inside);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> IdMap::inside(std::uint32_t outside) const {
  for (const Extent& extent : extents_) {
    if (outside - extent.outside < extent.count) return extent.inside + (outside - extent.outside);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> IdMap::first_inside() const {
  const auto first = std::min_element(
      extents_.begin(), extents_.end(),
      [](const Extent& left, const Extent& right) { return left.inside < right.inside; });
  if (first == extents_.end()) return std::nullopt;
  return first->inside;
}

}  // namespace sidecall::kernel
