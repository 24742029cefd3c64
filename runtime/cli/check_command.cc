// sidecall check: whether a policy is valid, and what it comes to.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <set>
#include <utility>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/policy_argument.h"
#include "cli/table.h"

namespace sidecall::cli {
namespace {

using Names = std::set<std::string>;

Names names_of(const oci::SeccompProfile& profile, bool (*matches)(std::string_view action)) {
  Names names;
  for (const auto& rule : profile.syscalls) {
    if (matches(rule.action)) names.insert(rule.names.begin(), rule.names.end());
  }
  return names;
}

void print_names(std::string_view heading, const Names& names) {
  if (names.empty()) return;
  print(fmt::format("{}:\n{}", heading, wrap(fmt::format("{}", fmt::join(names, " ")), 2)));
}

int check(const std::string& argument, const Context& context) {
  auto policy = find_policy(argument, context.policy_directory);
  if (!policy) return fail(policy.error());
  auto compiled = compile_over(*policy, oci::allow_all_profile());
  if (!compiled) return fail(compiled.error());
  if (auto program = policy::compile_program(*policy); !program) {
    return fail(std::move(program).error().within("policy \"" + policy->name + "\""));
  }
  print("ok\n");
  print_names("notified", names_of(compiled->profile, [](std::string_view action) {
                return action == "SCMP_ACT_NOTIFY";
              }));
  print_names("decided in the filter", names_of(compiled->profile, [](std::string_view action) {
                return action != "SCMP_ACT_NOTIFY" && action != "SCMP_ACT_ALLOW";
              }));
  for (const auto& note : compiled->notes) print(wrap("note: " + note, 0));
  return 0;
}

}  // namespace

void add_check(CommandLine& line, const Context& context) {
  const auto argument = std::make_shared<std::string>();
  line.command("check", "Say whether a policy is valid, and what it does")
      .required("POLICY", *argument, "A file, or a name in the policy directory")
      .footer("Example: sidecall check ./mine.json")
      .action([&context, argument] { return check(*argument, context); });
}

}  // namespace sidecall::cli
