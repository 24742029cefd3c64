#include "policy/call_plan.h"

#include <algorithm>

#include "policy/syscall_names.h"

namespace sidecall::policy {
namespace {

using Action = PolicyRule::Action;

// A value that seccomp's own ERRNO cannot return: it can return 0, and errors.
bool is_value(const PolicyRule& rule) {
  return rule.action == Action::kReturn && rule.number != 0;
}

FilterAction action_of(const CallRule& call) {
  const PolicyRule& rule = *call.rule;
  switch (rule.action) {
    case Action::kEmulate:
      return call.fixed ? FilterAction{"SCMP_ACT_ERRNO", call.fixed->errno_value} : notify_action();
    case Action::kReturn:
      return is_value(rule) ? notify_action() : FilterAction{"SCMP_ACT_ERRNO", 0};
    case Action::kErrno:
      return {"SCMP_ACT_ERRNO", static_cast<std::uint32_t>(rule.number)};
    case Action::kLog:
      return {"SCMP_ACT_LOG"};
    case Action::kKillProcess:
      return {"SCMP_ACT_KILL_PROCESS"};
    case Action::kKillThread:
      return {"SCMP_ACT_KILL_THREAD"};
    case Action::kRemote:
      return notify_action();
    case Action::kContinue:
      return allow_action();
  }
  return {"SCMP_ACT_KILL_PROCESS"};
}

emulators::Conditions both(emulators::Conditions conditions, const emulators::Conditions& more) {
  conditions.insert(conditions.end(), more.begin(), more.end());
  return conditions;
}

Result<CallRule> rule_for(const PolicyRule& rule, const std::string& syscall) {
  if (rule.action != Action::kEmulate) return CallRule{&rule, nullptr, 0, std::nullopt};
  const emulators::Row* row = emulators::find_row(rule.emulator);
  if (row == nullptr) return failure(rule.json_path + ": no emulator \"" + rule.emulator + "\"");
  const auto member =
      std::find_if(row->members.begin(), row->members.end(),
                   [&](const emulators::Member& each) { return each.syscall == syscall; });
  if (member == row->members.end()) {
    return failure(rule.json_path + ": emulator \"" + rule.emulator + "\" has no " + syscall);
  }
  const auto index = static_cast<std::uint32_t>(member - row->members.begin());
  return CallRule{&rule, &*member, index,
                  row->fixed == nullptr ? std::nullopt : row->fixed(rule.options, index)};
}

}  // namespace

Result<std::vector<CallPlan>> plan_calls(const Policy& policy) {
  std::vector<CallPlan> plans;
  for (const PolicyRule& rule : policy.rules) {
    for (const std::string& syscall : rule.syscalls) {
      auto call = rule_for(rule, syscall);
      if (!call) return pass_on(std::move(call));
      auto plan = std::find_if(plans.begin(), plans.end(),
                               [&](const CallPlan& each) { return each.syscall == syscall; });
      if (plan == plans.end()) plan = plans.insert(plan, CallPlan{syscall, {}});
      plan->rules.push_back(*call);
    }
  }
  return plans;
}

bool leaves_some(const CallRule& call) {
  return call.member != nullptr && !call.member->notify.empty();
}

std::vector<emulators::Conditions> decided_by(const CallRule& call) {
  if (!leaves_some(call)) return {call.rule->when};
  std::vector<emulators::Conditions> alternatives;
  for (const emulators::Conditions& wanted : call.member->notify) {
    alternatives.push_back(both(call.rule->when, wanted));
  }
  return alternatives;
}

std::vector<FilterRule> filter_rules(const CallPlan& plan, std::span<const FilterRule> base) {
  std::vector<FilterRule> rules;
  for (const CallRule& call : plan.rules) {
    for (auto& decided : decided_by(call)) rules.push_back({std::move(decided), action_of(call)});
    if (!leaves_some(call)) continue;
    for (const FilterRule& other : base) {
      rules.push_back({both(call.rule->when, other.when), other.action});
    }
  }
  rules.insert(rules.end(), base.begin(), base.end());
  return rules;
}

Result<std::vector<FilterRule>> express(const CallPlan& plan, std::span<const FilterRule> base,
                                        const FilterAction& unwritten, bool i386) {
  auto rules = make_disjoint(filter_rules(plan, base), unwritten);
  const std::string multiplexer = i386 ? multiplexer_on_i386(plan.syscall) : "";
  if (!rules || multiplexer.empty()) return rules;
  const bool compares = std::any_of(rules->begin(), rules->end(),
                                    [](const FilterRule& rule) { return !rule.when.empty(); });
  if (!compares) return rules;
  return failure("32-bit programs also reach it through " + multiplexer +
                 ", whose registers say nothing about it");
}

bool worker_can_decide(const CallPlan& plan) {
  return std::none_of(plan.rules.begin(), plan.rules.end(), [](const CallRule& call) {
    return call.rule->action == Action::kLog || call.rule->action == Action::kKillProcess ||
           call.rule->action == Action::kKillThread;
  });
}

bool needs_worker(const CallPlan& plan) {
  const bool answers = std::any_of(plan.rules.begin(), plan.rules.end(), [](const CallRule& call) {
    return action_of(call) == notify_action();
  });
  if (answers || !worker_can_decide(plan)) return answers;
  // What no filter can express over some base that allows the call, the worker decides. Bases
  // differ in the action that goes without saying.
  const FilterRule allowing{{}, allow_action()};
  const auto rules = filter_rules(plan, {&allowing, 1});
  const auto is_expressible = [&](const FilterAction& unwritten) {
    return express(plan, {&allowing, 1}, unwritten, true).has_value();
  };
  return !is_expressible(FilterAction{}) ||
         !std::all_of(rules.begin(), rules.end(),
                      [&](const FilterRule& rule) { return is_expressible(rule.action); });
}

FilterAction allow_action() {
  return {"SCMP_ACT_ALLOW"};
}
FilterAction notify_action() {
  return {"SCMP_ACT_NOTIFY"};
}

}  // namespace sidecall::policy
