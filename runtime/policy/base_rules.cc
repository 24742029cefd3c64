#include "policy/base_rules.h"

#include <algorithm>
#include <bitset>
#include <cerrno>

namespace sidecall::policy {
namespace {

FilterAction make_action(const std::string& name, std::optional<std::uint32_t> data) {
  // Runtimes take EPERM where the profile gives no errno.
  const bool has_data = name == "SCMP_ACT_ERRNO" || name == "SCMP_ACT_TRACE";
  // SCMP_ACT_KILL is the older name.
  return {name == "SCMP_ACT_KILL" ? "SCMP_ACT_KILL_THREAD" : name,
          has_data ? data.value_or(EPERM) : 0};
}

bool compares_twice(const emulators::Conditions& conditions) {
  std::bitset<6> seen;
  return std::any_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
    const bool again = seen.test(condition.index);
    seen.set(condition.index);
    return again;
  });
}

// As libseccomp reads them: of a masked comparison's value only the bits of the mask count, and one
// without a mask is none.
emulators::Conditions simplified(const emulators::Conditions& conditions) {
  emulators::Conditions simple;
  for (emulators::Condition condition : conditions) {
    if (condition.op == emulators::Compare::kMaskedEqual) {
      if (condition.value == 0) continue;
      condition.value_two &= condition.value;
    }
    simple.push_back(condition);
  }
  return simple;
}

}  // namespace

FilterAction action_of(const oci::SeccompRule& rule) {
  return make_action(rule.action, rule.errno_ret);
}

FilterAction default_action(const oci::SeccompProfile& profile) {
  return make_action(profile.default_action, profile.default_errno_ret);
}

std::vector<FilterRule> base_rules(const oci::SeccompProfile& profile, std::string_view syscall) {
  const FilterAction otherwise = default_action(profile);
  std::vector<FilterRule> rules;
  for (const oci::SeccompRule& rule : profile.syscalls) {
    if (std::find(rule.names.begin(), rule.names.end(), syscall) == rule.names.end()) continue;
    const FilterAction action = action_of(rule);
    if (action == otherwise) continue;
    std::vector<emulators::Conditions> alternatives = {rule.args};
    if (compares_twice(rule.args)) {
      alternatives.clear();
      for (const emulators::Condition& each : rule.args) alternatives.push_back({each});
    }
    for (const emulators::Conditions& each : alternatives) {
      rules.push_back({simplified(each), action});
      if (rules.back().when.empty()) return {rules.back()};
    }
  }
  rules.push_back({{}, otherwise});
  return rules;
}

}  // namespace sidecall::policy
