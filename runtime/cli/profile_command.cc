// sidecall profile: a policy as a seccomp profile, for engines that are given one.
#include <cstdio>
#include <memory>

#include "base/file.h"
#include "cli/base_profile.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/policy_argument.h"
#include "cli/record_command.h"
#include "oci_hook/edit.h"

namespace sidecall::cli {
namespace {

struct ProfileOptions {
  std::string policy;
  BaseProfile base;
  std::string output;
};

int compile(const ProfileOptions& options, const Context& context) {
  auto policy = find_policy(options.policy, context.policy_directory);
  if (!policy) return fail(policy.error());
  auto base = load_base_profile(options.base);
  if (!base) return fail(base.error());
  auto compiled = compile_over(*policy, *base);
  if (!compiled) return fail(compiled.error());
  auto listening = oci_hook::set_listener(compiled->profile, policy->name, context.run_directory);
  if (!listening) return fail(listening.error());

  for (const auto& note : compiled->notes) say("note: " + note);
  const std::string text = oci::print_profile(compiled->profile);
  if (options.output.empty()) {
    print(text);
  } else if (auto written = replace_file(options.output, text, 0644); !written) {
    return fail(written.error());
  }
  return 0;
}

}  // namespace

void add_profile(CommandLine& line, const Context& context) {
  const auto options = std::make_shared<ProfileOptions>();
  auto profile = line.group("profile", "Work with OCI seccomp profiles");
  auto compiling = profile.command(
      "compile", "Merge a policy into a seccomp profile, with sidecalld as the listener");
  take_base_profile(compiling, options->base);
  compiling.required("POLICY", options->policy, "A file, or a name in the policy directory")
      .text("-o,--output", options->output, "Write to this file")
      .footer(
          "Example: sidecall profile compile default --base /usr/share/containers/seccomp.json "
          "-o seccomp.json")
      .action([&context, options] { return compile(*options, context); });
  add_profile_record(profile);
}

}  // namespace sidecall::cli
