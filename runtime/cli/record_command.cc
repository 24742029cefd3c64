// sidecall profile record: the least profile and policy that a command needs.
#include "cli/record_command.h"

#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "base/paths.h"
#include "cli/base_profile.h"
#include "cli/command.h"
#include "cli/record.h"
#include "cli/run.h"

namespace sidecall::cli {
namespace {

struct RecordOptions {
  BaseProfile base;
  std::string output = ".";
  std::vector<std::string> command;
};

int record_command(const RecordOptions& options) {
  auto base = load_base_profile(options.base);
  if (!base) return fail(base.error());
  Recording recording(*std::move(base));
  const auto status = record(options.command, recording);
  if (!status) {
    say(status.error().message);
    return kRunFailed;
  }
  const std::string profile = in_directory(options.output, "profile.json");
  const std::string policy = in_directory(options.output, "policy.json");
  auto written = replace_file(profile, oci::print_profile(recording.profile()), 0644);
  if (written) written = replace_file(policy, recording.policy(), 0644);
  if (!written) {
    say(written.error().message);
    return kRunFailed;
  }
  print(recording.difference());
  say(fmt::format("written: {} and {}; the command ended with status {}", profile, policy,
                  *status));
  return *status;
}

}  // namespace

void add_profile_record(CommandLine& profile) {
  const auto options = std::make_shared<RecordOptions>();
  auto record = profile.command("record", "Run a command and write what it needs, no more");
  take_base_profile(record, options->base);
  record
      .text("-o,--output", options->output,
            "The directory that profile.json and policy.json are written to")
      .words("COMMAND", options->command, "The command and its arguments, after --")
      .footer(
          "Every call of the command is left to the kernel and noted. Prints what differs from "
          "--base:\n\"+ CALL\" is needed and refused there, \"- CALL\" allowed there and never "
          "made. What it did not do\nthis time it may not do next time. Exits as the command "
          "does.\nExample: sidecall profile record -o /tmp/tar -- tar xf dev.tar -C /tmp/dev\n"
          "Then: sidecall run --base /tmp/tar/profile.json --policy /tmp/tar/policy.json -- tar "
          "xf dev.tar -C /tmp/dev")
      .action([options] { return record_command(*options); });
}

}  // namespace sidecall::cli
