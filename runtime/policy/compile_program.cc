#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "policy/call_plan.h"
#include "policy/compile.h"
#include "policy/syscall_names.h"

namespace sidecall::policy {
namespace {

using emulators::Program;
using emulators::Route;
using emulators::Rule;

// Numbers the policy's emulate rules as the program's instances, and its remote rules as its
// remotes.
class Instances {
 public:
  explicit Instances(Program& program) : program_(program) {}
  std::uint32_t of(const PolicyRule& rule) {
    const auto [found, added] =
        numbers_.emplace(&rule, static_cast<std::uint32_t>(program_.instances.size()));
    if (added) program_.instances.push_back({rule.emulator, rule.options});
    return found->second;
  }
  std::uint32_t of_remote(const PolicyRule& rule) {
    const auto [found, added] =
        numbers_.emplace(&rule, static_cast<std::uint32_t>(program_.remotes.size()));
    if (!added) return found->second;
    auto& plugins = program_.plugins;
    const auto plugin = std::find(plugins.begin(), plugins.end(), rule.plugin);
    emulators::Remote remote = rule.remote;
    remote.plugin = static_cast<std::uint32_t>(plugin - plugins.begin());
    if (plugin == plugins.end()) plugins.push_back(rule.plugin);
    program_.remotes.push_back(remote);
    return found->second;
  }

 private:
  Program& program_;
  std::map<const PolicyRule*, std::uint32_t> numbers_;
};

Rule worker_rule(const CallRule& call, Instances& instances) {
  Rule rule{.when = call.rule->when};
  switch (call.rule->action) {
    case PolicyRule::Action::kEmulate:
      rule.action = Rule::Action::kEmulate;
      rule.instance = instances.of(*call.rule);
      rule.member = call.member_index;
      break;
    case PolicyRule::Action::kRemote:
      rule.action = Rule::Action::kRemote;
      rule.instance = instances.of_remote(*call.rule);
      break;
    case PolicyRule::Action::kReturn:
      rule.action = Rule::Action::kValue;
      rule.number = call.rule->number;
      break;
    case PolicyRule::Action::kErrno:
      rule.action = Rule::Action::kErrno;
      rule.number = call.rule->number;
      break;
    case PolicyRule::Action::kContinue:
      rule.action = Rule::Action::kContinue;
      break;
    case PolicyRule::Action::kLog:
    case PolicyRule::Action::kKillProcess:
    case PolicyRule::Action::kKillThread:
      // The filter does this and never notifies it. Should it come all the same: fail closed.
      rule.action = Rule::Action::kErrno;
      rule.number = EPERM;
      break;
  }
  return rule;
}

// What the filter does for an answer that is fixed, where the worker stands in for it over a base
// that allows the call.
std::vector<Rule> fixed_rules(const CallRule& call) {
  std::vector<Rule> rules;
  const int errno_value = call.fixed->errno_value;
  for (auto& decided : decided_by(call)) {
    rules.push_back({.when = std::move(decided),
                     .action = errno_value == 0 ? Rule::Action::kValue : Rule::Action::kErrno,
                     .number = errno_value});
  }
  if (leaves_some(call)) rules.push_back({.when = call.rule->when});
  return rules;
}

// With routes for every call that the policy names, or for those that a filter cannot decide.
Result<Program> compile(const Policy& policy, bool every_call) {
  const auto plans = plan_calls(policy);
  if (!plans) return tl::unexpected<Error>(plans.error());
  Program program;
  program.policy = policy.name;
  program.sync_wake_up = policy.sync_wake_up;
  program.limits = policy.limits;
  Instances instances(program);
  for (const CallPlan& plan : *plans) {
    if (!every_call && !needs_worker(plan)) continue;
    for (const kernel::Abi abi : host_abis()) {
      const auto number = syscall_number(abi, plan.syscall);
      if (!number) continue;
      const auto twin =
          std::find_if(program.routes.begin(), program.routes.end(),
                       [&](const Route& route) { return route.abi == abi && route.nr == *number; });
      if (twin != program.routes.end()) {
        return failure(plan.rules.front().rule->json_path + ": " + plan.syscall + " and " +
                       twin->name + " are the same call on " + std::string(kernel::abi_name(abi)) +
                       ": keep one of the names");
      }
      Route& route = program.routes.emplace_back(Route{abi, *number, plan.syscall, {}});
      for (const CallRule& call : plan.rules) {
        auto rules = call.fixed ? fixed_rules(call) : std::vector{worker_rule(call, instances)};
        std::move(rules.begin(), rules.end(), std::back_inserter(route.rules));
      }
    }
  }
  return program;
}

}  // namespace

Result<Program> compile_program(const Policy& policy) {
  return compile(policy, false);
}

Result<Replacement> compile_replacement(const Policy& policy, std::span<const Route> notified) {
  auto whole = compile(policy, true);
  if (!whole) return tl::unexpected<Error>(whole.error());
  Replacement replacement{.program = *std::move(whole), .notes = {}};
  std::vector<Route> wanted = std::exchange(replacement.program.routes, {});
  std::set<std::string> unnamed;
  std::set<std::string> unnotified;
  for (const Route& old : notified) {
    const auto found = std::find_if(wanted.begin(), wanted.end(), [&](const Route& route) {
      return route.abi == old.abi && route.nr == old.nr;
    });
    if (found == wanted.end()) unnamed.insert(old.name);
    replacement.program.routes.push_back(
        {old.abi, old.nr, old.name, found != wanted.end() ? found->rules : std::vector<Rule>()});
  }
  for (const Route& route : wanted) {
    const bool is_notified = std::any_of(notified.begin(), notified.end(), [&](const Route& old) {
      return route.abi == old.abi && route.nr == old.nr;
    });
    if (!is_notified) unnotified.insert(route.name);
  }
  for (const std::string& name : unnotified) {
    replacement.notes.push_back(name +
                                ": the container's filter does not hand it over; what the policy "
                                "says of it begins with the container's next start");
  }
  for (const std::string& name : unnamed) {
    replacement.notes.push_back(name +
                                ": no longer in the policy; left to the kernel's own check, as the "
                                "container's filter still hands it over");
  }
  return replacement;
}

}  // namespace sidecall::policy
