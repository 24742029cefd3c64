#include "policy/reachability.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "policy/register_set.h"

namespace sidecall::policy {
namespace {

using emulators::Condition;
using emulators::Conditions;

// Whether some value of each register satisfies all conditions on it.
bool can_hold(const Conditions& conditions) {
  for (std::uint8_t index = 0; index < 6; ++index) {
    auto values = RegisterSet::everything();
    for (const Condition& condition : conditions) {
      if (condition.index == index) values = values.split(condition).inside;
      if (values.empty()) return false;
    }
  }
  return true;
}

bool same(const Conditions& a, const Conditions& b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

Result<void> check_reachability(const Policy& policy) {
  std::map<std::string_view, std::vector<const PolicyRule*>> earlier_by_call;
  for (const PolicyRule& rule : policy.rules) {
    if (!can_hold(rule.when)) {
      return failure(rule.json_path + ".when: no call satisfies all of these conditions");
    }
    for (const std::string& syscall : rule.syscalls) {
      auto& earlier = earlier_by_call[syscall];
      for (const PolicyRule* other : earlier) {
        if (same(other->when, rule.when)) {
          return failure(rule.json_path + ": " + other->json_path + " already decides " + syscall +
                         " under the same conditions: remove one of them");
        }
        if (other->when.empty()) {
          return failure(rule.json_path + ": can never be reached for " + syscall + ", as " +
                         other->json_path + " decides every call of it: put this one first");
        }
      }
      earlier.push_back(&rule);
    }
  }
  return {};
}

}  // namespace sidecall::policy
