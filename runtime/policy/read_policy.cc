#include <algorithm>
#include <array>

#include "emulators/table.h"
#include "oci/json.h"
#include "oci/seccomp_json.h"
#include "oci/suggest.h"
#include "policy/policy.h"
#include "policy/reachability.h"
#include "policy/read_options.h"
#include "policy/read_remote.h"
#include "policy/syscall_names.h"

namespace sidecall::policy {
namespace {

using oci::Node;
using Action = PolicyRule::Action;

constexpr std::size_t kMaxPolicy = 1U << 20;
constexpr std::size_t kMaxRules = 512;
constexpr std::size_t kMaxConditions = 16;
constexpr std::int64_t kMaxErrno = 4095;  // MAX_ERRNO of linux/err.h

constexpr std::array<std::string_view, 6> kPolicyKeys = {
    "$schema", "description", "sync_wake_up", "wait_killable", "limits", "rules"};
constexpr std::array<std::string_view, 4> kLimitKeys = {"calls", "threads", "memory_mib",
                                                        "wait_seconds"};
constexpr std::array<std::string_view, 10> kRuleKeys = {"syscalls", "when",  "emulate", "options",
                                                        "return",   "errno", "log",     "kill",
                                                        "continue", "remote"};
constexpr std::array<std::string_view, 7> kActionKeys = {"emulate", "return",   "errno", "log",
                                                         "kill",    "continue", "remote"};
constexpr std::array<std::string_view, 4> kConditionKeys = {"index", "value", "valueTwo", "op"};

emulators::Conditions read_when(const Node& node) {
  emulators::Conditions conditions;
  const auto items = node.items();
  if (node.present() && (items.empty() || items.size() > kMaxConditions)) {
    node.reject("must have 1 to " + std::to_string(kMaxConditions) +
                " conditions; without \"when\" a rule is for every call");
  }
  for (const Node& item : items) {
    item.only(kConditionKeys);
    const emulators::Condition condition = read_condition(item);
    const Node value_two = item.member("valueTwo");
    if (condition.op == emulators::Compare::kMaskedEqual) {
      (void)item.required("valueTwo");
    } else if (condition.value_two != 0) {
      value_two.reject("only SCMP_CMP_MASKED_EQ has a second value");
    }
    if (std::find(conditions.begin(), conditions.end(), condition) != conditions.end()) {
      item.reject("repeated");
    }
    conditions.push_back(condition);
  }
  return conditions;
}

std::vector<std::string> read_syscalls(const Node& node) {
  std::vector<std::string> syscalls;
  for (const Node& item : node.items()) {
    const std::string name = item.text();
    if (!is_syscall(name)) {
      item.reject("unknown system call" + syscall_suggestion(name));
    } else if (std::find(syscalls.begin(), syscalls.end(), name) != syscalls.end()) {
      item.reject("repeated");
    }
    syscalls.push_back(name);
  }
  if (syscalls.empty()) node.reject("names no system call");
  return syscalls;
}

// The one member that says what is done.
Node action_of(const Node& node) {
  std::vector<Node> found;
  for (const std::string_view key : kActionKeys) {
    if (Node member = node.member(key); member.present()) found.push_back(std::move(member));
  }
  if (found.size() == 1) return found.front();
  node.reject(found.empty() ? "says not what to do: emulate, return, errno, log, kill, continue or "
                              "remote"
                            : "says more than one thing to do: split it into rules");
  return node;
}

void require_true(const Node& node) {
  if (!node.boolean(true)) node.reject("must be true; leave the rule out instead");
}

std::vector<std::string> served_calls(const emulators::Row& row,
                                      const emulators::Options& options) {
  std::vector<std::string> calls;
  for (std::size_t member = 0; member < row.members.size(); ++member) {
    if (row.serves != nullptr && !row.serves(options, member)) continue;
    calls.emplace_back(row.members[member].syscall);
  }
  return calls;
}

void read_emulate(const Node& node, const Node& action, PolicyRule& rule) {
  rule.action = Action::kEmulate;
  rule.emulator = action.text();
  const emulators::Row* row = emulators::find_row(rule.emulator);
  if (row == nullptr) {
    std::vector<std::string_view> names;
    for (const emulators::Row& each : emulators::table()) names.push_back(each.name);
    action.reject("unknown emulator" + oci::did_you_mean(rule.emulator, names) +
                  ", `sidecall emulators` lists them");
    return;
  }
  rule.options = read_options(node, *row);
  const std::vector<std::string> served = served_calls(*row, rule.options);
  const Node syscalls = node.member("syscalls");
  if (!syscalls.present()) rule.syscalls = served;
  for (const Node& item : syscalls.items()) {
    if (std::find(served.begin(), served.end(), item.text()) != served.end()) continue;
    item.reject("emulator \"" + rule.emulator + "\" does not serve this call" +
                (row->serves != nullptr ? " with these options" : ""));
  }
}

void read_kill(const Node& action, PolicyRule& rule) {
  const std::string what = action.text();
  rule.action = what == "thread" ? Action::kKillThread : Action::kKillProcess;
  if (what != "thread" && what != "process") action.reject("must be \"process\" or \"thread\"");
}

PolicyRule read_rule(const Node& node) {
  PolicyRule rule;
  rule.json_path = node.path();
  node.only(kRuleKeys);
  rule.when = read_when(node.member("when"));

  const Node action = action_of(node);
  const bool emulates = node.member("emulate").present();
  const Node syscalls = emulates ? node.member("syscalls") : node.required("syscalls");
  if (syscalls.present()) rule.syscalls = read_syscalls(syscalls);
  if (!emulates) {
    if (const Node options = node.member("options"); options.present()) {
      options.reject("only an emulator has options");
    }
  }

  const std::string_view key = std::string_view(action.path()).substr(node.path().size());
  if (key == ".emulate") {
    read_emulate(node, action, rule);
  } else if (key == ".return") {
    rule.action = Action::kReturn;
    rule.number = action.integer();
    if (rule.number < 0 && rule.number >= -kMaxErrno) {
      action.reject("is how the kernel returns an error: use \"errno\"");
    }
  } else if (key == ".errno") {
    rule.action = Action::kErrno;
    rule.number = read_errno(action);
  } else if (key == ".remote") {
    read_remote(action, rule);
  } else if (key == ".kill") {
    read_kill(action, rule);
  } else if (key == ".log" || key == ".continue") {
    rule.action = key == ".log" ? Action::kLog : Action::kContinue;
    require_true(action);
  }
  return rule;
}

void read_limit(const Node& node, const emulators::Limits::Range& range, std::uint32_t& limit) {
  if (!node.present()) return;
  const std::int64_t value = node.integer();
  if (!range.has(value)) {
    node.reject("must be " + std::to_string(range.least) + " to " + std::to_string(range.most));
    return;
  }
  limit = static_cast<std::uint32_t>(value);
}

emulators::Limits read_limits(const Node& node) {
  using emulators::Limits;
  Limits limits;
  if (!node.present()) return limits;
  node.only(kLimitKeys);
  read_limit(node.member("calls"), Limits::kCalls, limits.calls);
  read_limit(node.member("threads"), Limits::kThreads, limits.threads);
  read_limit(node.member("memory_mib"), Limits::kMemoryMib, limits.memory_mib);
  read_limit(node.member("wait_seconds"), Limits::kWaitSeconds, limits.wait_seconds);
  return limits;
}

}  // namespace

Result<Policy> parse_policy(std::string_view name, std::string_view json) {
  const auto document = oci::parse_json(json, kMaxPolicy);
  if (!document) return tl::unexpected<Error>(document.error());
  Node::Finding finding;
  const Node root(*document, finding);

  root.only(kPolicyKeys);
  (void)root.member("$schema").text();
  Policy policy;
  policy.name = name;
  policy.description = root.member("description").text();
  policy.sync_wake_up = root.member("sync_wake_up").boolean(policy.sync_wake_up);
  policy.wait_killable = root.member("wait_killable").boolean(policy.wait_killable);
  policy.limits = read_limits(root.member("limits"));
  const Node rules = root.required("rules");
  const auto items = rules.items();
  if (items.size() > kMaxRules) {
    rules.reject("has more than " + std::to_string(kMaxRules) + " rules");
  }
  for (const Node& item : items) {
    if (finding.found()) break;
    policy.rules.push_back(read_rule(item));
  }
  if (finding.found()) return finding.take();
  if (auto reachable = check_reachability(policy); !reachable) return pass_on(std::move(reachable));
  return policy;
}

}  // namespace sidecall::policy
