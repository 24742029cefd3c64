#include "policy/filter_rule.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "policy/libseccomp_shape.h"
#include "policy/register_set.h"

namespace sidecall::policy {
namespace {

using emulators::Compare;
using emulators::Condition;
using emulators::Conditions;

constexpr std::size_t kMaxRules = 128;   // per system call: filters end at 4096 instructions
constexpr std::size_t kMaxPieces = 256;  // of one register
// Comparisons that one decision may take: under a second, also for a policy that means harm.
constexpr std::size_t kMaxWork = 16U << 20;
constexpr std::uint8_t kRegisters = 6;

// Whether libseccomp's cut to 32 bits leaves the condition's meaning on a 32-bit register.
bool survives_cut(const Condition& condition) {
  const bool masked = condition.op == Compare::kMaskedEqual;
  return (masked ? condition.value_two : condition.value) <=
         std::numeric_limits<std::uint32_t>::max();
}

// Decides register by register: the values of the lowest register that any rule looks at are cut
// into classes that leave the same rules in question, and each class is decided by the others.
class Decision {
 public:
  explicit Decision(const FilterAction& unwritten) : unwritten_(unwritten) {}

  Result<std::vector<FilterRule>> decide(std::span<const FilterRule> rules) {
    if (rules.front().when.empty()) {
      if (rules.front().action == unwritten_) return std::vector<FilterRule>{};
      return std::vector<FilterRule>{rules.front()};
    }
    const std::uint8_t index = lowest_register(rules);
    auto classes = classify(rules, index);
    if (!classes) return pass_on(std::move(classes));

    // Classes that end in the same decisions are one.
    std::vector<std::pair<std::vector<FilterRule>, RegisterSet>> outcomes;
    for (auto& [remaining, values] : *classes) {
      auto decided = decide(remaining);
      if (!decided) return decided;
      const auto same = std::find_if(outcomes.begin(), outcomes.end(), [&](const auto& outcome) {
        return outcome.first == *decided;
      });
      if (same == outcomes.end()) {
        outcomes.emplace_back(*std::move(decided), values);
      } else {
        same->second.unite(values);
      }
    }
    if (outcomes.size() == 1) return std::move(outcomes.front().first);
    return write(outcomes, index);
  }

 private:
  using Class = std::pair<std::vector<FilterRule>, RegisterSet>;

  static tl::unexpected<Error> too_long() {
    return failure("it takes more than " + std::to_string(kMaxRules) + " filter rules");
  }

  static std::uint8_t lowest_register(std::span<const FilterRule> rules) {
    std::uint8_t lowest = kRegisters;
    for (const FilterRule& rule : rules) {
      for (const Condition& condition : rule.when) lowest = std::min(lowest, condition.index);
    }
    return lowest;
  }

  // The rules that stay in question for the values of a register that make `holding[i]` of
  // `conditions[i]`, without their conditions on it; nothing after one that always matches.
  static std::vector<FilterRule> remaining(std::span<const FilterRule> rules, std::uint8_t index,
                                           const Conditions& conditions,
                                           const std::vector<bool>& holding) {
    std::vector<FilterRule> remaining;
    for (const FilterRule& rule : rules) {
      FilterRule rest{{}, rule.action};
      const bool possible =
          std::all_of(rule.when.begin(), rule.when.end(), [&](const Condition& condition) {
            if (condition.index != index) {
              rest.when.push_back(condition);
              return true;
            }
            const auto at = std::find(conditions.begin(), conditions.end(), condition);
            return static_cast<bool>(holding[static_cast<std::size_t>(at - conditions.begin())]);
          });
      if (!possible) continue;
      const bool always = rest.when.empty();
      remaining.push_back(std::move(rest));
      if (always) break;
    }
    return remaining;
  }

  Result<std::vector<Class>> classify(std::span<const FilterRule> rules, std::uint8_t index) {
    Conditions conditions;
    for (const FilterRule& rule : rules) {
      std::copy_if(rule.when.begin(), rule.when.end(), std::back_inserter(conditions),
                   [&](const Condition& condition) {
                     return condition.index == index &&
                            std::find(conditions.begin(), conditions.end(), condition) ==
                                conditions.end();
                   });
    }
    std::map<std::vector<bool>, RegisterSet, std::greater<>> cut;
    cut.emplace(std::vector<bool>{}, RegisterSet::everything());
    for (const Condition& condition : conditions) {
      decltype(cut) finer;
      std::size_t pieces = 0;
      for (const auto& [holding, values] : cut) {
        const auto parts = values.split(condition);
        for (const bool holds : {true, false}) {
          const RegisterSet& part = holds ? parts.inside : parts.outside;
          if (part.empty()) continue;
          auto extended = holding;
          extended.push_back(holds);
          pieces += part.pieces();
          work_ += part.pieces() + extended.size();
          finer.emplace(std::move(extended), part);
        }
        if (pieces > kMaxPieces || work_ > kMaxWork) return too_long();
      }
      cut = std::move(finer);
    }
    std::vector<Class> classes;
    work_ += cut.size() * rules.size() * conditions.size();
    if (work_ > kMaxWork) return too_long();
    for (auto& [holding, values] : cut) {
      auto left = remaining(rules, index, conditions, holding);
      const auto same = std::find_if(classes.begin(), classes.end(),
                                     [&](const Class& other) { return other.first == left; });
      if (same == classes.end()) {
        classes.emplace_back(std::move(left), std::move(values));
      } else {
        same->second.unite(values);
      }
    }
    return classes;
  }

  // "Below" is asked only where nothing else is: see libseccomp_shape.h.
  static bool may_ask_below(std::span<const Class> outcomes) {
    Conditions asked;
    for (const auto& [decided, values] : outcomes) {
      if (decided.empty()) continue;
      for (const Condition& condition : values.alternatives(0, true)) asked.push_back(condition);
    }
    return is_one_question(asked);
  }

  static Result<std::vector<FilterRule>> write(std::span<const Class> outcomes,
                                               std::uint8_t index) {
    const bool below = may_ask_below(outcomes);
    std::vector<FilterRule> written;
    for (const auto& [decided, values] : outcomes) {
      if (decided.empty()) continue;
      for (const Condition& condition : values.alternatives(index, below)) {
        if (!survives_cut(condition)) {
          return failure("it compares register " + std::to_string(index) +
                         " with more than 32 bits, which 32-bit architectures cannot");
        }
        for (const FilterRule& rule : decided) {
          FilterRule& narrowed = written.emplace_back(rule);
          narrowed.when.insert(narrowed.when.begin(), condition);
        }
        if (written.size() > kMaxRules) return too_long();
      }
    }
    return written;
  }

  const FilterAction& unwritten_;
  std::size_t work_ = 0;
};

}  // namespace

Result<std::vector<FilterRule>> make_disjoint(std::span<const FilterRule> rules,
                                              const FilterAction& unwritten) {
  auto disjoint = Decision(unwritten).decide(rules);
  if (!disjoint) return disjoint;
  put_in_libseccomp_order(*disjoint);
  if (!libseccomp_builds_right(*disjoint)) {
    return failure("libseccomp cannot decide by several registers in this way");
  }
  return disjoint;
}

}  // namespace sidecall::policy
