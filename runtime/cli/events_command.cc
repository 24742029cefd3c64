// sidecall events: what happens to the sandboxes.
#include <cstdio>
#include <memory>

#include "cli/agent_client.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/event_line.h"

namespace sidecall::cli {
namespace {

struct EventsOptions {
  std::string id;
  bool follow = false;
  bool as_json = false;
  std::vector<std::string> kinds;
};

Result<v1::WatchRequest> request_of(const EventsOptions& options) {
  v1::WatchRequest request;
  request.set_id(options.id);
  request.set_recent(options.follow ? v1::RECENT_FIRST : v1::RECENT_ONLY);
  for (const std::string& name : options.kinds) {
    const auto kind = event_kind(name);
    if (!kind) return failure("no kind of event \"" + name + "\"; there are " + event_kind_names());
    request.add_kinds(*kind);
  }
  return request;
}

// Each at once, also into a pipe: who follows wants to know now.
void show(const v1::Event& event, bool as_json) {
  if (!as_json) {
    print(event_line(event));
  } else if (const auto line = to_json_line(event)) {
    print(*line);
  }
  std::fflush(stdout);
}

int events(const EventsOptions& options, const Context& context) {
  const auto request = request_of(options);
  if (!request) return fail(request.error());
  const auto watched =
      AgentClient(context.run_directory).watch(*request, [&](const v1::Event& event) {
        show(event, options.as_json);
      });
  return watched ? 0 : fail(watched.error());
}

}  // namespace

void add_events(CommandLine& line, const Context& context) {
  const auto options = std::make_shared<EventsOptions>();
  line.command("events", "Show what happens to the sandboxes")
      .text("ID", options->id, "A sandbox, by its whole id (default: all)")
      .flag("-f,--follow", options->follow, "Go on until interrupted")
      .repeatable("--kind", "KIND", options->kinds,
                  "Only these (repeatable): " + event_kind_names() +
                      " (default: all but call-emulated and call-continued)")
      .flag("--json", options->as_json, "A line of JSON each, as sidecall.v1.Event")
      .footer(
          "Without --follow: the last 256 that are not single calls, which are told only while "
          "somebody\nfollows.\nExample: sidecall events --follow --kind call-denied web1")
      .action([&context, options] { return events(*options, context); });
}

}  // namespace sidecall::cli
