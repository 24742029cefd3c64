// The heart of policy/: what the compiled filter does, as libseccomp builds it, is what the
// policy's and the base's first matching rule says, for random policies, bases and registers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>

#include "emulators/conditions.h"
#include "emulators/table.h"
#include "oci/seccomp.h"
#include "policy/base_rules.h"
#include "policy/compile.h"
#include "policy/syscall_names.h"
#include "unit/policy/filter.h"

namespace sidecall::policy {
namespace {

using emulators::Compare;
using emulators::Condition;
using emulators::Conditions;
using kernel::Abi;

// Calls that the OCI runtime does not make and that both ABIs have.
const std::vector<std::string> kCalls = {"mknod", "mknodat", "swapon", "mount", "clock_settime"};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(engine_);
  }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  // Few values, so that conditions meet; at the edges of what is compared.
  std::uint64_t value() {
    static const std::vector<std::uint64_t> kValues = {
        0,      1,      2,      3,      4,          5,          7,          8,
        0x1000, 0x2000, 0x6000, 0x21b6, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    return pick(kValues);
  }
  // `plain`: only what libseccomp itself builds right where rules overlap.
  Condition condition(std::size_t registers, bool plain = false) {
    static const std::vector<Compare> kPlain = {Compare::kEqual, Compare::kMaskedEqual,
                                                Compare::kGreater, Compare::kGreaterOrEqual};
    static const std::vector<std::uint64_t> kMasks = {0xf000, 1, 3, 6, 0x80000000, 0xffffffff, 0};
    Condition condition;
    condition.index = static_cast<std::uint8_t>(below(registers));
    condition.op = plain ? pick(kPlain) : static_cast<Compare>(below(7));
    condition.value = value();
    if (condition.op == Compare::kMaskedEqual) {
      condition.value = pick(kMasks);
      condition.value_two = value() & (chance(95) ? condition.value : UINT32_MAX);
    }
    return condition;
  }
  Conditions conditions(std::size_t most, std::size_t registers, bool plain = false) {
    Conditions conditions(below(most + 1));
    for (Condition& each : conditions) each = condition(registers, plain);
    return conditions;
  }
  std::uint64_t register_value(Abi abi) {
    std::uint64_t value = this->value();
    if (chance(30)) value += below(3) - 1;
    if (chance(20)) value |= std::uint64_t{0x1000} << below(4);
    if (chance(10)) value = engine_();
    if (kernel::is_32_bit(abi)) return value & UINT32_MAX;
    return chance(10) ? value | std::uint64_t{1} << (32 + below(32)) : value;
  }
  Registers registers(Abi abi) {
    Registers registers{};
    for (auto& each : registers) each = register_value(abi);
    return registers;
  }

 private:
  std::mt19937_64 engine_;
};

// An emulator for the call, if there is one: notified, answered by the filter with 0 or an errno.
void make_emulate(Random& random, PolicyRule& rule) {
  const std::string& call = rule.syscalls.front();
  if (call == "mount") return;
  rule.action = PolicyRule::Action::kEmulate;
  if (call.starts_with("mknod")) {
    rule.emulator = "mknod";
    rule.options.emplace("devices", std::vector<std::string>{"c 1:3"});
    return;
  }
  rule.emulator = call == "swapon" ? "swap" : "clock";
  rule.options.emplace("mode", std::string(random.chance(50) ? "pretend" : "errno"));
}

PolicyRule random_rule(Random& random, const std::string& call, std::size_t registers) {
  using Action = PolicyRule::Action;
  PolicyRule rule;
  rule.when = random.conditions(3, registers);
  rule.json_path = "$.rules[?]";
  rule.syscalls = {call};
  rule.action = static_cast<Action>(1 + random.below(6));
  if (rule.action == Action::kErrno) rule.number = static_cast<std::int64_t>(1 + random.below(3));
  if (rule.action == Action::kReturn) rule.number = static_cast<std::int64_t>(random.below(2)) * 7;
  if (random.chance(50)) make_emulate(random, rule);
  return rule;
}

Policy random_policy(Random& random, std::size_t registers) {
  Policy policy;
  policy.name = "random";
  for (const std::string& call : kCalls) {
    if (random.chance(60)) continue;
    for (std::size_t rules = 1 + random.below(3); rules > 0; --rules) {
      policy.rules.push_back(random_rule(random, call, registers));
    }
  }
  return policy;
}

std::string random_action(Random& random) {
  static const std::vector<std::string> kActions = {"SCMP_ACT_ALLOW",        "SCMP_ACT_ALLOW",
                                                    "SCMP_ACT_ERRNO",        "SCMP_ACT_LOG",
                                                    "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_TRAP"};
  return random.pick(kActions);
}

// The base's rules for a call that the policy leaves alone go to libseccomp as they are, which is
// at a loss where conditional rules overlap: there is at most one of them, beside rules without
// conditions.
oci::SeccompProfile random_base(Random& random, std::size_t registers, const Policy& policy) {
  oci::SeccompProfile base = oci::allow_all_profile();
  if (random.chance(50)) base.architectures.emplace_back("SCMP_ARCH_X32");
  base.default_action = random_action(random);
  for (const std::string& call : kCalls) {
    const bool plain =
        std::none_of(policy.rules.begin(), policy.rules.end(),
                     [&](const auto& rule) { return rule.syscalls.front() == call; });
    bool conditional = false;
    for (std::size_t rules = random.below(4); rules > 0; --rules) {
      auto conditions = random.conditions(plain && conditional ? 0 : 2, registers, plain);
      conditional = conditional || !conditions.empty();
      base.syscalls.push_back({{call}, random_action(random), std::nullopt, std::move(conditions)});
    }
  }
  return base;
}

// The rule of the policy that decides the call, and whether sidecall is to see it.
struct Expected {
  FilterAction action;
  const PolicyRule* rule = nullptr;
};

FilterAction base_decision(const oci::SeccompProfile& base, const std::string& call,
                           const Registers& args) {
  for (const FilterRule& rule : base_rules(base, call)) {
    if (emulators::hold(rule.when, args)) return rule.action;
  }
  return {"nothing"};
}

bool wanted(const std::string& emulator, const std::string& call, const Registers& args) {
  const emulators::Row* row = emulators::find_row(emulator);
  for (const emulators::Member& member : row->members) {
    if (member.syscall != call) continue;
    return member.notify.empty() ||
           std::any_of(member.notify.begin(), member.notify.end(),
                       [&](const Conditions& each) { return emulators::hold(each, args); });
  }
  return false;
}

// What the filter answers for the rule's emulator by itself; empty where sidecall is to see it.
std::optional<FilterAction> fixed_answer(const PolicyRule& rule) {
  const bool is_pretended =
      rule.options.contains("mode") && std::get<std::string>(rule.options.at("mode")) == "pretend";
  if (rule.emulator == "swap") {
    return FilterAction{"SCMP_ACT_ERRNO", is_pretended ? 0U : std::uint32_t{EPERM}};
  }
  if (rule.emulator == "clock" && !is_pretended) return FilterAction{"SCMP_ACT_ERRNO", EPERM};
  return std::nullopt;
}

Expected expected_decision(const Policy& policy, const oci::SeccompProfile& base,
                           const std::string& call, const Registers& args) {
  using Action = PolicyRule::Action;
  for (const PolicyRule& rule : policy.rules) {
    if (rule.syscalls.front() != call || !emulators::hold(rule.when, args)) continue;
    switch (rule.action) {
      case Action::kEmulate:
        if (!wanted(rule.emulator, call, args)) return {base_decision(base, call, args)};
        return {fixed_answer(rule).value_or(FilterAction{"SCMP_ACT_NOTIFY"}), &rule};
      case Action::kReturn:
        if (rule.number != 0) return {{"SCMP_ACT_NOTIFY"}, &rule};
        return {{"SCMP_ACT_ERRNO", 0}, &rule};
      case Action::kErrno:
        return {{"SCMP_ACT_ERRNO", static_cast<std::uint32_t>(rule.number)}, &rule};
      case Action::kLog:
        return {{"SCMP_ACT_LOG"}, &rule};
      case Action::kKillProcess:
        return {{"SCMP_ACT_KILL_PROCESS"}, &rule};
      case Action::kKillThread:
        return {{"SCMP_ACT_KILL_THREAD"}, &rule};
      case Action::kRemote:
        return {{"SCMP_ACT_NOTIFY"}, &rule};
      case Action::kContinue:
        return {{"SCMP_ACT_ALLOW"}, &rule};
    }
  }
  return {base_decision(base, call, args)};
}

// What the worker does with a notified call; null where its program has no route for it.
const emulators::Rule* worker_decision(const emulators::Program& program, Abi abi, int nr,
                                       const Registers& args) {
  static const emulators::Rule kContinue;
  for (const emulators::Route& route : program.routes) {
    if (route.abi != abi || route.nr != nr) continue;
    for (const emulators::Rule& rule : route.rules) {
      if (emulators::hold(rule.when, args)) return &rule;
    }
    return &kContinue;
  }
  return nullptr;
}

bool is_same(const emulators::Rule& done, const PolicyRule* rule) {
  using Done = emulators::Rule::Action;
  using Action = PolicyRule::Action;
  if (rule == nullptr) return done.action == Done::kContinue || done.action == Done::kEmulate;
  switch (rule->action) {
    case Action::kEmulate:
      if (const auto fixed = fixed_answer(*rule)) {
        return done.action == (fixed->data == 0 ? Done::kValue : Done::kErrno) &&
               done.number == fixed->data;
      }
      return done.action == Done::kEmulate;
    case Action::kReturn:
      return done.action == Done::kValue && done.number == rule->number;
    case Action::kErrno:
      return done.action == Done::kErrno && done.number == rule->number;
    case Action::kRemote:
      return done.action == Done::kRemote;
    case Action::kContinue:
      return done.action == Done::kContinue;
    default:
      return false;
  }
}

std::string describe(const Registers& args, const oci::SeccompProfile& profile) {
  std::string text;
  for (const std::uint64_t each : args) text += std::to_string(each) + " ";
  return text + "\n" + oci::print_profile(profile);
}

struct Counts {
  std::size_t compiled = 0;
  std::size_t refused = 0;
  std::size_t handed_over = 0;  // calls notified only because no filter can express the conditions
  std::size_t calls = 0;
  std::size_t fixed = 0;  // of them answered by the filter in an emulator's place
};

// Compiles one random policy over one random base and compares `samples` calls of each kind.
void compare(Random& random, std::size_t registers, std::size_t samples, Counts& counts) {
  const Policy policy = random_policy(random, registers);
  const oci::SeccompProfile base = random_base(random, registers, policy);
  const auto compiled = compile_profile(policy, base);
  const auto program = compile_program(policy);
  ASSERT_TRUE(program) << program.error().message;
  if (!compiled) {
    ASSERT_NE(compiled.error().message.find("a filter cannot express"), std::string::npos)
        << compiled.error().message;
    ++counts.refused;
    return;
  }
  ++counts.compiled;
  const auto filter = Filter::build(compiled->profile);
  ASSERT_TRUE(filter) << filter.error().message << oci::print_profile(compiled->profile);
  for (const Abi abi : host_abis()) {
    for (const std::string& call : kCalls) {
      const auto nr = syscall_number(abi, call);
      if (!nr) continue;
      for (std::size_t sample = 0; sample < samples; ++sample) {
        const Registers args = random.registers(abi);
        const auto expected = expected_decision(policy, base, call, args);
        const auto done = filter->decide(abi, *nr, args);
        ++counts.calls;
        if (done == FilterAction{"SCMP_ACT_NOTIFY"}) {
          const auto* rule = worker_decision(*program, abi, *nr, args);
          ASSERT_NE(rule, nullptr) << call << " is notified and has no route";
          ASSERT_TRUE(is_same(*rule, expected.rule)) << call << describe(args, compiled->profile);
          if (expected.action == done) continue;
          ++counts.handed_over;
          // The worker stands in for the filter only where it can do the same.
          ASSERT_FALSE(compiled->notes.empty());
          ASSERT_TRUE(expected.rule != nullptr || expected.action.name == "SCMP_ACT_ALLOW");
          continue;
        }
        ASSERT_EQ(done.name, expected.action.name)
            << call << " " << kernel::abi_name(abi) << " " << describe(args, compiled->profile);
        ASSERT_EQ(done.data, expected.action.data) << call << describe(args, compiled->profile);
        if (expected.rule != nullptr && expected.rule->action == PolicyRule::Action::kEmulate) {
          ++counts.fixed;
        }
      }
    }
  }
}

TEST(BaseRules, ReadAProfileAsLibseccompDoes) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const oci::SeccompProfile base = random_base(random, 1 + seed % 4, Policy{});
    const auto filter = Filter::build(base);
    ASSERT_TRUE(filter) << filter.error().message << oci::print_profile(base);
    for (const Abi abi : host_abis()) {
      for (const std::string& call : kCalls) {
        const auto nr = syscall_number(abi, call);
        if (!nr) continue;
        for (int sample = 0; sample < 100; ++sample) {
          const Registers args = random.registers(abi);
          ASSERT_EQ(filter->decide(abi, *nr, args).name, base_decision(base, call, args).name)
              << call << " " << describe(args, base);
        }
      }
    }
  }
}

// Split into shards, so that a failing seed is named by its test.
class Equivalence : public testing::TestWithParam<unsigned> {};

TEST_P(Equivalence, FilterAndWorkerDoWhatTheFirstMatchSays) {
  Counts counts;
  for (unsigned round = 0; round < 200; ++round) {
    const unsigned seed = GetParam() * 1000 + round;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ASSERT_NO_FATAL_FAILURE(compare(random, 1 + round % 6, 200, counts));
  }
  // Enough of what is random is expressible, or this would test refusals only.
  EXPECT_GT(counts.compiled, 60U);
  EXPECT_GT(counts.calls, 60000U);
  EXPECT_GT(counts.fixed, 500U);
  RecordProperty("refused", static_cast<int>(counts.refused));
  RecordProperty("handed_over", static_cast<int>(counts.handed_over));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Equivalence, testing::Range(0U, 10U));

}  // namespace
}  // namespace sidecall::policy
