#include <algorithm>

#include "policy/base_rules.h"
#include "policy/call_plan.h"
#include "policy/compile.h"
#include "policy/runtime_calls.h"
#include "policy/syscall_names.h"

namespace sidecall::policy {
namespace {

constexpr std::string_view kWaitKillable = "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV";

// "$.rules[0], $.rules[2]"
std::string paths(const CallPlan& plan) {
  std::string paths;
  for (const CallRule& call : plan.rules) {
    paths += (paths.empty() ? "" : ", ") + call.rule->json_path;
  }
  return paths;
}

// The merged profile of one compilation.
class Merge {
 public:
  Merge(const std::vector<CallPlan>& plans, const oci::SeccompProfile& base)
      : plans_(plans), base_(base), otherwise_(default_action(base)) {}

  Result<CompiledProfile> run(bool wait_killable) {
    if (auto free = check_base(); !free) return pass_on(std::move(free));
    compiled_.profile = base_;
    compiled_.profile.syscalls = base_without_plans();
    std::erase(compiled_.profile.flags, kWaitKillable);
    if (wait_killable) compiled_.profile.flags.emplace_back(kWaitKillable);
    for (const CallPlan& plan : plans_) {
      const auto rules = rules_of(plan);
      if (!rules) return tl::unexpected<Error>(rules.error());
      if (auto starts = check_start(plan, *rules); !starts) return pass_on(std::move(starts));
      for (const FilterRule& rule : *rules) append(plan.syscall, rule);
    }
    return std::move(compiled_);
  }

 private:
  // A filter has one listener, so that a base that notifies belongs to another supervisor.
  Result<void> check_base() const {
    const bool notifies =
        otherwise_ == notify_action() ||
        std::any_of(base_.syscalls.begin(), base_.syscalls.end(), [](const oci::SeccompRule& rule) {
          return action_of(rule) == notify_action();
        });
    if (!notifies && base_.listener_path.empty()) return {};
    return failure("the base profile already has a listener" +
                   (base_.listener_path.empty() ? "" : " (" + base_.listener_path + ")") +
                   ": merge the policy into one without SCMP_ACT_NOTIFY and listenerPath");
  }

  [[nodiscard]] bool admits_i386() const {
    return std::find(base_.architectures.begin(), base_.architectures.end(), "SCMP_ARCH_X86") !=
           base_.architectures.end();
  }

  // The base's own rules, of calls that no plan is about. Rules with the default action go: they do
  // nothing, and libseccomp refuses them.
  std::vector<oci::SeccompRule> base_without_plans() const {
    std::vector<oci::SeccompRule> rules;
    for (oci::SeccompRule rule : base_.syscalls) {
      if (action_of(rule) == otherwise_) continue;
      std::erase_if(rule.names, [&](const std::string& name) {
        return std::any_of(plans_.begin(), plans_.end(),
                           [&](const CallPlan& plan) { return plan.syscall == name; });
      });
      if (!rule.names.empty()) rules.push_back(std::move(rule));
    }
    return rules;
  }

  Result<std::vector<FilterRule>> rules_of(const CallPlan& plan) {
    const auto base = base_rules(base_, plan.syscall);
    auto rules = express(plan, base, otherwise_, admits_i386());
    if (rules) return rules;
    const std::string path = paths(plan);
    const std::string reason = std::move(rules).error().message;
    // The worker may decide instead, if what it leaves to the kernel is what the base does.
    if (base.front() != FilterRule{{}, allow_action()} || !worker_can_decide(plan)) {
      return failure(path + ": a filter cannot express these conditions on " + plan.syscall + " (" +
                     reason + "): compare fewer values, or bits with SCMP_CMP_MASKED_EQ");
    }
    compiled_.notes.push_back(
        path + ": each " + plan.syscall +
        " is notified, as a filter cannot express the conditions (" + reason +
        "): compare fewer values, or bits with SCMP_CMP_MASKED_EQ, to pay only for those");
    return std::vector<FilterRule>{{{}, notify_action()}};
  }

  Result<void> check_start(const CallPlan& plan, const std::vector<FilterRule>& rules) {
    const bool notified = std::any_of(rules.begin(), rules.end(), [](const FilterRule& rule) {
      return rule.action == notify_action();
    });
    if (!notified) return {};
    const std::string path = paths(plan);
    if (const auto why = why_start_would_hang(plan.syscall); !why.empty()) {
      return failure(path + ": " + plan.syscall +
                     " cannot be notified, the container would never " +
                     "start: " + std::string(why));
    }
    const auto multiplexer = multiplexer_on_i386(plan.syscall);
    if (!multiplexer.empty() && admits_i386()) {
      compiled_.notes.push_back(path + ": 32-bit programs also reach " + plan.syscall +
                                " through " + multiplexer + ", which is not served");
    }
    return {};
  }

  // Calls that get the same rule one after the other share it.
  void append(const std::string& syscall, const FilterRule& rule) {
    auto& rules = compiled_.profile.syscalls;
    oci::SeccompRule written{{syscall}, rule.action.name, std::nullopt, rule.when};
    if (rule.action.name == "SCMP_ACT_ERRNO" || rule.action.name == "SCMP_ACT_TRACE") {
      written.errno_ret = rule.action.data;
    }
    if (own_rules_ && action_of(rules.back()) == rule.action && rules.back().args == rule.when) {
      rules.back().names.push_back(syscall);
      return;
    }
    rules.push_back(std::move(written));
    own_rules_ = true;
  }

  const std::vector<CallPlan>& plans_;
  const oci::SeccompProfile& base_;
  const FilterAction otherwise_;
  CompiledProfile compiled_;
  bool own_rules_ = false;  // the profile's last rule is one of ours
};

}  // namespace

Result<CompiledProfile> compile_profile(const Policy& policy, const oci::SeccompProfile& base) {
  const auto plans = plan_calls(policy);
  if (!plans) return tl::unexpected<Error>(plans.error());
  return Merge(*plans, base).run(policy.wait_killable);
}

}  // namespace sidecall::policy
