// A policy seen from one system call: what it says about that call alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulators/table.h"
#include "policy/filter_rule.h"
#include "policy/policy.h"

namespace sidecall::policy {

// Points into the policy and the emulators' table.
struct CallRule {
  const PolicyRule* rule = nullptr;
  const emulators::Member* member = nullptr;  // kEmulate only, as what follows
  std::uint32_t member_index = 0;
  std::optional<emulators::FixedAnswer> fixed;  // the filter's, in the emulator's place
};

struct CallPlan {
  std::string syscall;
  std::vector<CallRule> rules;  // the first match wins
};

// Every call that the policy speaks of, in its order. Fails where a rule names what the table
// lacks, which parse_policy() refuses.
[[nodiscard]] Result<std::vector<CallPlan>> plan_calls(const Policy& policy);

// Whether some calls that match the rule's conditions are not among those that its emulator wants
// to see: the base decides those.
[[nodiscard]] bool leaves_some(const CallRule& call);
// The calls that the rule itself decides, as alternatives.
[[nodiscard]] std::vector<emulators::Conditions> decided_by(const CallRule& call);

// The plan over what a base profile does with the call, as one list of which the first match wins.
// `base` ends in a rule without conditions.
[[nodiscard]] std::vector<FilterRule> filter_rules(const CallPlan& plan,
                                                   std::span<const FilterRule> base);

// filter_rules() made disjoint, without those whose action is `unwritten`. Fails where
// make_disjoint() does, and where conditions are left on a call that i386 programs also reach
// through another one, if the profile admits `i386`: libseccomp would compare that one's registers.
[[nodiscard]] Result<std::vector<FilterRule>> express(const CallPlan& plan,
                                                      std::span<const FilterRule> base,
                                                      const FilterAction& unwritten, bool i386);

// Whether the worker can decide all of the call's rules: it cannot log or kill as the kernel does.
[[nodiscard]] bool worker_can_decide(const CallPlan& plan);
// Whether the worker has to decide any of them over some base profile.
[[nodiscard]] bool needs_worker(const CallPlan& plan);

// The actions of the OCI specification that sidecall itself reasons about.
[[nodiscard]] FilterAction allow_action();
[[nodiscard]] FilterAction notify_action();

}  // namespace sidecall::policy
