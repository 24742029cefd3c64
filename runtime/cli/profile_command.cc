// sidecall profile compile: a policy as a seccomp profile, for engines that are given one.
#include <sys/utsname.h>

#include <cstdio>
#include <memory>

#include "base/file.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/policy_argument.h"
#include "oci_hook/edit.h"

namespace sidecall::cli {
namespace {

struct ProfileOptions {
  std::string policy;
  std::string base;
  std::vector<std::string> capabilities;
  std::string output;
};

// What a default profile's includes and excludes are resolved against: this host.
oci::ProfileContext context_here(std::vector<std::string> capabilities) {
  oci::ProfileContext context{.capabilities = std::move(capabilities)};
#ifdef __aarch64__
  context.architecture = "arm64";
#endif
  utsname name{};
  if (::uname(&name) == 0) {
    // A release that cannot be read leaves 0.0: rules with a minKernel then do not apply.
    char* end = nullptr;
    context.kernel_major = static_cast<unsigned>(std::strtoul(name.release, &end, 10));
    if (*end == '.')
      context.kernel_minor = static_cast<unsigned>(std::strtoul(end + 1, nullptr, 10));
  }
  return context;
}

Result<oci::SeccompProfile> base_profile(const ProfileOptions& options) {
  if (options.base.empty()) return oci::allow_all_profile();
  auto text = read_file(options.base);
  if (!text) return pass_on(std::move(text));
  auto profile = oci::parse_profile(*text, context_here(options.capabilities));
  if (!profile) return pass_on(std::move(profile), options.base);
  return profile;
}

int compile(const ProfileOptions& options, const Context& context) {
  auto policy = find_policy(options.policy, context.policy_directory);
  if (!policy) return fail(policy.error());
  auto base = base_profile(options);
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
  line.group("profile", "Work with OCI seccomp profiles")
      .command("compile", "Merge a policy into a seccomp profile, with sidecalld as the listener")
      .required("POLICY", options->policy, "A file, or a name in the policy directory")
      .text("--base", options->base,
            "The profile to merge into: OCI, containers-common or docker form "
            "(default: one that allows everything)")
      .repeatable("--cap", "CAP_...", options->capabilities,
                  "A capability that the container has (repeatable), for --base's includes")
      .text("-o,--output", options->output, "Write to this file")
      .footer(
          "Example: sidecall profile compile default --base /usr/share/containers/seccomp.json "
          "-o seccomp.json")
      .action([&context, options] { return compile(*options, context); });
}

}  // namespace sidecall::cli
