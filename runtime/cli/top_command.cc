// sidecall top: what is called right now.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "cli/agent_client.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/top_rows.h"

namespace sidecall::cli {
namespace {

using Clock = std::chrono::steady_clock;

// From the upper left corner, over what is there, and nothing after it: no flicker.
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearLine = "\x1b[K\n";
constexpr std::string_view kClearRest = "\x1b[J";

struct TopOptions {
  std::string id;
  int seconds = 1;
  bool once = false;
  bool as_json = false;
};

struct Look {
  v1::GetStatisticsResponse figures;
  Clock::time_point at;
};

Result<Look> look(const AgentClient& agent, const std::string& prefix) {
  auto figures = agent.find_statistics(prefix);
  if (!figures) return pass_on(std::move(figures));
  return Look{.figures = std::move(*figures), .at = Clock::now()};
}

// For a terminal: as much as fits.
void draw(const Top& top) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    size.ws_row = 24;
    size.ws_col = kTerminalWidth;
  }
  const std::size_t lines = std::max<std::size_t>(size.ws_row, 6) - 3;
  std::uint64_t total = 0;
  for (const TopSandbox& sandbox : top.sandboxes) total += sandbox.total();
  std::string text = fmt::format("{} sandboxes, {:.0f} calls a second\n\n", top.sandboxes.size(),
                                 static_cast<double>(total) / top.seconds) +
                     top_table(top, lines - 1, size.ws_col);
  print(kHome);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    print(text.substr(at, end - at));
    print(kClearLine);
    at = end + 1;
  }
  print(kClearRest);
}

void show(const Top& top, const TopOptions& options) {
  if (options.as_json) {
    print(top_json(top));
  } else if (!options.once && ::isatty(STDOUT_FILENO) == 1) {
    draw(top);
  } else {
    print(top_table(top, std::string::npos));
  }
  std::fflush(stdout);
}

int top(const TopOptions& options, const Context& context) {
  const AgentClient agent(context.run_directory);
  auto before = look(agent, options.id);
  if (!before) return fail(before.error());
  do {
    std::this_thread::sleep_for(std::chrono::seconds(options.seconds));
    auto after = look(agent, options.id);
    if (!after) return fail(after.error());
    const std::chrono::duration<double> passed = after->at - before->at;
    show(top_between(before->figures, after->figures, passed.count()), options);
    before = std::move(after);
  } while (!options.once && std::ferror(stdout) == 0);
  return 0;
}

}  // namespace

void add_top(CommandLine& line, const Context& context) {
  const auto options = std::make_shared<TopOptions>();
  line.command("top", "Show what is called right now, the busiest first")
      .text("ID", options->id, "A sandbox, or the start of its id (default: all)")
      .number("--interval", options->seconds, 1, 3600, "Seconds between two looks")
      .flag("--once", options->once, "One interval, then end")
      .flag("--json", options->as_json, "JSON, a document an interval")
      .footer(
          "DONE, ERRNO and CONT are the share of calls that were answered so, or left to the "
          "kernel; P50\nand P99 are since the sandbox began.\nExample: sidecall top --once --json")
      .action([&context, options] { return top(*options, context); });
}

}  // namespace sidecall::cli
