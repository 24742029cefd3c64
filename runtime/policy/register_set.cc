#include "policy/register_set.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

namespace sidecall::policy {
namespace {

using emulators::Compare;
using emulators::Condition;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();

// Whether the mask's clear bits are its lowest ones: then the pattern is a range.
constexpr bool is_range_mask(std::uint64_t mask) {
  return (~mask & (~mask + 1)) == 0;
}

}  // namespace

RegisterSet RegisterSet::everything() {
  RegisterSet set;
  set.ranges_.push_back({0, kMost});
  return set;
}

void RegisterSet::add(Pattern pattern) {
  if (is_range_mask(pattern.mask)) {
    ranges_.push_back({pattern.value, pattern.value | ~pattern.mask});
  } else {
    patterns_.push_back(pattern);
  }
}

void RegisterSet::unite(const RegisterSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  patterns_.insert(patterns_.end(), other.patterns_.begin(), other.patterns_.end());
}

// The fewest aligned power-of-two blocks that make up the range, as an address range is written in
// network prefixes.
std::vector<RegisterSet::Pattern> RegisterSet::patterns_of(Range range) {
  if (range.low == 0 && range.high == kMost) return {{0, 0}};
  std::vector<Pattern> patterns;
  for (std::uint64_t low = range.low;;) {
    const std::uint64_t aligned = low == 0 ? kMost : low & (~low + 1);
    const std::uint64_t size = std::bit_floor(std::min(aligned, range.high - low + 1));
    patterns.push_back({~(size - 1), low});
    if (range.high - low < size) return patterns;
    low += size;
  }
}

void RegisterSet::cut(Range range, Range by, Parts& parts) {
  const Range common{std::max(range.low, by.low), std::min(range.high, by.high)};
  if (common.low > common.high) {
    parts.outside.ranges_.push_back(range);
    return;
  }
  parts.inside.ranges_.push_back(common);
  if (range.low < common.low) parts.outside.ranges_.push_back({range.low, common.low - 1});
  if (common.high < range.high) parts.outside.ranges_.push_back({common.high + 1, range.high});
}

void RegisterSet::cut(Pattern pattern, Pattern by, Parts& parts) {
  if (((pattern.value ^ by.value) & pattern.mask & by.mask) != 0) {
    parts.outside.add(pattern);
    return;
  }
  // Outside is what differs in the first bit that `by` adds, or agrees there and differs in the
  // next, and so on: one piece per bit, not one per value.
  std::uint64_t added = by.mask & ~pattern.mask;
  while (added != 0) {
    const std::uint64_t bit = std::bit_floor(added);
    added &= ~bit;
    pattern.mask |= bit;
    parts.outside.add({pattern.mask, pattern.value | (bit & ~by.value)});
    pattern.value |= bit & by.value;
  }
  parts.inside.add(pattern);
}

void RegisterSet::cut(Pattern pattern, Range by, Parts& parts) {
  const std::uint64_t least = pattern.value;
  const std::uint64_t most = pattern.value | ~pattern.mask;
  if (by.high < least || most < by.low) {
    parts.outside.patterns_.push_back(pattern);
    return;
  }
  Parts ranges;
  cut(Range{least, most}, by, ranges);
  for (auto [from, to] :
       {std::pair{&ranges.inside, &parts.inside}, std::pair{&ranges.outside, &parts.outside}}) {
    for (const Range& range : from->ranges_) {
      for (const Pattern& block : patterns_of(range)) {
        Parts within;
        cut(pattern, block, within);
        to->unite(within.inside);
      }
    }
  }
}

RegisterSet::Parts RegisterSet::split(const Condition& condition) const {
  Parts parts;
  const auto by_range = [&](std::uint64_t low, std::uint64_t high) {
    for (const Range& range : ranges_) cut(range, {low, high}, parts);
    for (const Pattern& pattern : patterns_) cut(pattern, Range{low, high}, parts);
  };
  const auto by_pattern = [&](Pattern by) {
    for (const Range& range : ranges_) {
      for (const Pattern& pattern : patterns_of(range)) cut(pattern, by, parts);
    }
    for (const Pattern& pattern : patterns_) cut(pattern, by, parts);
  };

  const std::uint64_t value = condition.value;
  switch (condition.op) {
    case Compare::kEqual:
    case Compare::kNotEqual:
      by_range(value, value);
      break;
    case Compare::kLess:
    case Compare::kGreaterOrEqual:
      by_range(value, kMost);
      break;
    case Compare::kLessOrEqual:
    case Compare::kGreater:
      by_range(0, value);
      break;
    case Compare::kMaskedEqual:
      if ((condition.value_two & ~value) != 0) {
        parts.outside = *this;  // asks for a bit that it masks out
      } else if (is_range_mask(value)) {
        by_range(condition.value_two, condition.value_two | ~value);
      } else {
        by_pattern({value, condition.value_two});
      }
      break;
  }
  const bool negated = condition.op == Compare::kNotEqual || condition.op == Compare::kLess ||
                       condition.op == Compare::kGreater;
  if (negated) std::swap(parts.inside, parts.outside);
  return parts;
}

// Sorted, neighbours joined.
void RegisterSet::merge_ranges(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.low < b.low; });
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    if (!merged.empty() && merged.back().high + 1 == range.low) {
      merged.back().high = range.high;
    } else {
      merged.push_back(range);
    }
  }
  ranges = std::move(merged);
}

// Two patterns that differ in one bit are one pattern without it.
void RegisterSet::merge_patterns(std::vector<Pattern>& patterns) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> merged;  // (mask, value)
  for (auto [mask, value] : patterns) {
    for (std::uint64_t left = mask; left != 0;) {
      const std::uint64_t bit = std::bit_floor(left);
      left &= ~bit;
      if (merged.erase({mask, value ^ bit}) == 0) continue;
      mask &= ~bit;
      value &= ~bit;
      left = mask;  // what has grown may merge again
    }
    merged.emplace(mask, value);
  }
  patterns.clear();
  for (const auto& [mask, value] : merged) patterns.push_back({mask, value});
}

emulators::Conditions RegisterSet::alternatives(std::uint8_t index, bool below) const {
  emulators::Conditions conditions;
  const auto add = [&](Compare op, std::uint64_t value, std::uint64_t value_two = 0) {
    conditions.push_back({index, op, value, value_two});
  };
  std::vector<Range> ranges = ranges_;
  std::vector<Pattern> patterns = patterns_;
  merge_ranges(ranges);
  merge_patterns(patterns);

  if (ranges.size() == 2 && ranges[0].low == 0 && ranges[1].high == kMost &&
      ranges[1].low - ranges[0].high == 2) {
    add(Compare::kNotEqual, ranges[0].high + 1);
    ranges.clear();
  } else if (ranges.size() == 1 && ranges[0].low == 1 && ranges[0].high == kMost) {
    add(Compare::kNotEqual, 0);
    ranges.clear();
  }
  for (const Range& range : ranges) {
    // "above the largest 32-bit value" and its opposite are the forms that 32-bit filters read
    // right.
    if (range.low == range.high) {
      add(Compare::kEqual, range.low);
    } else if (range.low == 0 && below) {
      const bool wide = range.high >= kMost32;
      add(wide ? Compare::kLessOrEqual : Compare::kLess, wide ? range.high : range.high + 1);
    } else if (range.high == kMost) {
      const bool wide = range.low > kMost32;
      add(wide ? Compare::kGreater : Compare::kGreaterOrEqual, wide ? range.low - 1 : range.low);
    } else {
      for (const Pattern& block : patterns_of(range)) {
        if (~block.mask == 0) {
          add(Compare::kEqual, block.value);
        } else {
          add(Compare::kMaskedEqual, block.mask, block.value);
        }
      }
    }
  }
  for (const Pattern& pattern : patterns) add(Compare::kMaskedEqual, pattern.mask, pattern.value);
  return conditions;
}

}  // namespace sidecall::policy
