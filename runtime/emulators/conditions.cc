#include "emulators/conditions.h"

#include <algorithm>

namespace sidecall::emulators {

bool holds(const Condition& condition, const std::array<std::uint64_t, 6>& args) {
  if (condition.index >= args.size()) return false;
  const std::uint64_t arg = args[condition.index];
  switch (condition.op) {
    case Compare::kNotEqual:
      return arg != condition.value;
    case Compare::kLess:
      return arg < condition.value;
    case Compare::kLessOrEqual:
      return arg <= condition.value;
    case Compare::kEqual:
      return arg == condition.value;
    case Compare::kGreaterOrEqual:
      return arg >= condition.value;
    case Compare::kGreater:
      return arg > condition.value;
    case Compare::kMaskedEqual:
      return (arg & condition.value) == condition.value_two;
  }
  return false;
}

bool hold(std::span<const Condition> conditions, const std::array<std::uint64_t, 6>& args) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const Condition& condition) { return holds(condition, args); });
}

}  // namespace sidecall::emulators
