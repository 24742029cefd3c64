#include "policy/libseccomp_shape.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace sidecall::policy {
namespace {

using emulators::Compare;
using emulators::Condition;
using emulators::Conditions;

bool is_above(const Condition& condition) {
  return condition.op == Compare::kGreater || condition.op == Compare::kGreaterOrEqual;
}
bool is_below(const Condition& condition) {
  return condition.op == Compare::kLess || condition.op == Compare::kLessOrEqual;
}
bool is_masked(const Condition& condition) {
  return condition.op == Compare::kMaskedEqual;
}

// libseccomp's order within a list, then whatever keeps equal conditions together.
auto place(const Condition& condition) {
  const int kind = is_above(condition) ? 2 : (is_below(condition) ? 1 : 0);
  const std::uint64_t datum = is_masked(condition) ? condition.value_two : condition.value;
  return std::tuple(condition.index, kind, ~datum, condition.op, condition.value);
}

bool is_before(const FilterRule& a, const FilterRule& b) {
  return std::lexicographical_compare(
      a.when.begin(), a.when.end(), b.when.begin(), b.when.end(),
      [](const Condition& x, const Condition& y) { return place(x) < place(y); });
}

// A register of 64 bits is compared in halves, a mask's upper half of nothing in a list of its own.
bool ignores_upper_half(const Condition& condition) {
  return is_masked(condition) && condition.value <= std::numeric_limits<std::uint32_t>::max();
}

// The rules that have the first `depth` conditions in common, by the next one.
struct Level {
  Conditions conditions;
  std::vector<std::span<const FilterRule>> below;
};
Level level_of(std::span<const FilterRule> rules, std::size_t depth) {
  Level level;
  while (!rules.empty()) {
    const Condition& condition = rules.front().when[depth];
    const auto end = std::find_if(rules.begin(), rules.end(), [&](const FilterRule& rule) {
      return rule.when[depth] != condition;
    });
    const auto count = static_cast<std::size_t>(end - rules.begin());
    level.conditions.push_back(condition);
    level.below.push_back(rules.first(count));
    rules = rules.subspan(count);
  }
  return level;
}

bool is_action(std::span<const FilterRule> rules, std::size_t depth) {
  return rules.size() == 1 && rules.front().when.size() == depth;
}

// Whether the rules decide every call, so that nothing falls out of them.
bool is_total(std::span<const FilterRule> rules, std::size_t depth) {
  if (is_action(rules, depth)) return true;
  const Level level = level_of(rules, depth);
  return level.conditions.size() == 2 && is_one_question(level.conditions) &&
         is_total(level.below[0], depth + 1) && is_total(level.below[1], depth + 1);
}

bool builds_right(std::span<const FilterRule> rules, std::size_t depth) {
  if (is_action(rules, depth)) return true;
  const Level level = level_of(rules, depth);
  const Conditions& conditions = level.conditions;
  const auto& below = level.below;
  const bool all_right = std::all_of(
      below.begin(), below.end(), [&](const auto& each) { return builds_right(each, depth + 1); });
  if (!all_right) return false;
  if (is_one_question(conditions)) return true;
  for (std::size_t at = 0; at < below.size(); ++at) {
    if (is_total(below[at], depth + 1)) continue;
    if (at + 1 < below.size()) return false;
    // Of the lists of the two halves this one must be the last as well.
    const bool alone =
        std::all_of(conditions.begin(), conditions.end(), [&](const Condition& each) {
          return ignores_upper_half(each) == ignores_upper_half(conditions[at]);
        });
    if (!is_above(conditions[at]) && !alone) return false;
  }
  return true;
}

}  // namespace

bool is_one_question(const Conditions& conditions) {
  if (conditions.size() != 2) return conditions.size() == 1;
  if (conditions[0].value != conditions[1].value) return false;
  const auto [low, high] = std::minmax(conditions[0].op, conditions[1].op);
  return std::pair(low, high) == std::pair(Compare::kNotEqual, Compare::kEqual) ||
         std::pair(low, high) == std::pair(Compare::kLess, Compare::kGreaterOrEqual) ||
         std::pair(low, high) == std::pair(Compare::kLessOrEqual, Compare::kGreater);
}

void put_in_libseccomp_order(std::vector<FilterRule>& rules) {
  std::sort(rules.begin(), rules.end(), is_before);
}

bool libseccomp_builds_right(std::span<const FilterRule> ordered) {
  return ordered.empty() || builds_right(ordered, 0);
}

}  // namespace sidecall::policy
