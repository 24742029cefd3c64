// sidecall bundle: a plain crun or runc bundle under sidecall, and out again.
#include <memory>

#include "cli/bundle.h"
#include "cli/command.h"
#include "cli/command_line.h"

namespace sidecall::cli {
namespace {

struct BundleOptions {
  std::string directory;
  std::string policy;
};

int add(const BundleOptions& options, const Context& context) {
  BundleRequest request{.directory = options.directory,
                        .installation = {.hook_path = program_path("sidecall-hook"),
                                         .run_directory = context.run_directory},
                        .policy_directory = context.policy_directory,
                        .policy = std::nullopt};
  if (!options.policy.empty()) request.policy = options.policy;
  auto notes = add_to_bundle(request);
  if (!notes) return fail(notes.error());
  for (const std::string& note : *notes) say("note: " + note);
  return 0;
}

int remove(const BundleOptions& options) {
  auto removed = remove_from_bundle(options.directory);
  return removed ? 0 : fail(removed.error());
}

}  // namespace

void add_bundle(CommandLine& line, const Context& context) {
  const auto options = std::make_shared<BundleOptions>();
  CommandLine bundle = line.group("bundle", "Put a crun or runc bundle under sidecall, or undo it");
  bundle.command("add", "Add filter, listener and hooks to config.json")
      .required("DIR", options->directory, "The bundle")
      .text("--policy", options->policy,
            "A name in the policy directory (default: the bundle's annotation "
            "dev.sidecall.policy, else default)")
      .footer("Example: sidecall bundle add ./web1 && crun run -b ./web1 web1")
      .action([&context, options] { return add(*options, context); });
  bundle.command("remove", "Give config.json back the bytes that it had")
      .required("DIR", options->directory, "The bundle")
      .footer("Example: sidecall bundle remove ./web1")
      .action([options] { return remove(*options); });
}

}  // namespace sidecall::cli
