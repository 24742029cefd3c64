// sidecall bench: what a served call costs here, against the least that any supervisor can do.
//
// Every row has callers and a supervisor of its own. The rows take turns, so that whatever else the
// machine does falls on all of them.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <sstream>

#include "base/file.h"
#include "cli/bench_report.h"
#include "cli/bench_row.h"
#include "cli/command.h"
#include "cli/command_line.h"

namespace sidecall::cli {
namespace {

struct BenchOptions {
  int rounds = 15;
  int calls = 2000;
  std::string rows;
  std::string svg;
  bool as_json = false;
};

struct Contender {
  RunningRow row;
  BenchResult result;
  bool is_timed = false;  // call by call
};

// A picture of every row would show none: without --rows, one caller each.
bool wants_times(const BenchOptions& options, const BenchRow& row) {
  return (options.as_json || !options.svg.empty()) && row.by != BenchRow::By::kKernel &&
         (row.callers == 1 || !options.rows.empty());
}

// Whether the name has one of the parts that --rows lists.
bool is_wanted(const std::string& name, const std::string& parts) {
  if (parts.empty()) return true;
  std::istringstream words(parts);
  for (std::string part; std::getline(words, part, '/');) {
    if (!part.empty() && name.find(part) != std::string::npos) return true;
  }
  return false;
}

Result<std::vector<Contender>> start_rows(const BenchOptions& options) {
  const auto cpus = placement::sandbox_cpus(::getpid());
  if (!cpus) return tl::unexpected<Error>(cpus.error());
  std::vector<Contender> contenders;
  int number = 0;
  for (const BenchRow& row : bench_rows(cpus->count())) {
    if (!is_wanted(row.name, options.rows)) continue;
    auto running = RunningRow::start(row, ++number);
    if (!running) {
      say(fmt::format("bench: without \"{}\": {}", row.name, running.error().message));
      continue;
    }
    contenders.push_back(
        {.row = *std::move(running),
         .result = {.name = row.name, .against = row.against, .callers = row.callers},
         .is_timed = wants_times(options, row)});
  }
  if (contenders.empty()) return failure("no such row: see sidecall bench --help");
  return contenders;
}

Result<void> run_round(const BenchOptions& options, std::vector<Contender>& contenders) {
  for (Contender& contender : contenders) {
    const int calls = std::max(options.calls / contender.result.callers, 1);
    const auto mean = contender.row.run(calls);
    if (!mean) {
      return failure(fmt::format("row \"{}\": {}", contender.result.name, mean.error().message));
    }
    contender.result.rounds.push_back(*mean / 1000);
    if (!contender.is_timed) continue;
    if (auto timed = contender.row.run_timed(calls); !timed) return pass_on(std::move(timed));
  }
  return {};
}

std::vector<BenchResult> results_of(std::vector<Contender>& contenders) {
  std::vector<BenchResult> results;
  for (Contender& contender : contenders) {
    BenchResult& result = contender.result;
    const Latencies& latencies = contender.row.latencies();
    const auto total = static_cast<double>(latencies.total());
    for (const double share : bench_shares()) {
      // Beyond that a percentile would be that of a handful of calls.
      if (total * (1 - share) < 1) break;
      result.percentiles.emplace_back(share,
                                      static_cast<double>(latencies.percentile(share)) / 1000);
    }
    results.push_back(std::move(result));
  }
  return results;
}

Result<std::vector<BenchResult>> measure(const BenchOptions& options) {
  auto contenders = start_rows(options);
  if (!contenders) return pass_on(std::move(contenders));
  for (int round = 0; round < options.rounds; ++round) {
    if (auto done = run_round(options, *contenders); !done) return pass_on(std::move(done));
  }
  return results_of(*contenders);
}

int bench(const BenchOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto results = measure(options);
  if (!results) return fail(results.error());
  if (options.as_json) {
    print(bench_json(*results));
  } else {
    utsname host{};
    ::uname(&host);
    print(fmt::format("Linux {}, {} CPUs; {} rounds of {} calls\n", host.release,
                      ::sysconf(_SC_NPROCESSORS_ONLN), options.rounds, options.calls));
    print(bench_table(*results));
  }
  if (options.svg.empty()) return 0;
  const auto written = replace_file(options.svg, bench_svg(*results), 0644);
  return written ? 0 : fail(written.error());
}

}  // namespace

void add_bench(CommandLine& line, const Context& /*context*/) {
  const auto options = std::make_shared<BenchOptions>();
  line.command("bench", "Measure what a served call costs here, as root")
      .number("--rounds", options->rounds, 1, 100000, "Turns of each row")
      .number("--calls", options->calls, 1, 10000000, "Calls in a turn, of all callers together")
      .text("--rows", options->rows, "Only rows with this in their name; more of them after /")
      .flag("--json", options->as_json, "JSON, with every round and percentiles of single calls")
      .text("--svg", options->svg, "Draw the latency of single calls into this file")
      .footer(
          "floor is the bare loop of RECV and SEND; value is a rule's constant, served. RATIO is "
          "to "
          "the floor\nplaced alike, to the same call unserved, or to one caller alone.\n"
          "Example: sidecall bench --rows value/floor")
      .action([options] { return bench(*options); });
}

}  // namespace sidecall::cli
