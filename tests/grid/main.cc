// The programs grid_NAME.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/file.h"
#include "grid/case.h"
#include "grid/judge.h"
#include "grid/places.h"
#include "grid/run_cases.h"

namespace sidecall::grid {
namespace {

constexpr int kBad = 1;
constexpr int kUsage = 2;
constexpr int kSkipped = 77;  // as ctest is told

constexpr std::string_view kUsageText =
    "usage: grid_NAME [--cases PROGRAM] [--only TEXT] [all|native|off|on]\n"
    "       grid_NAME run-cases --native|--container SCRATCH [ONLY]\n"
    "       grid_NAME judge NATIVE OFF ON\n"
    "       grid_NAME policy\n"
    "\n"
    "all        the cases natively, with sidecall off and on; what is wrong, and the counts\n"
    "native     the cases as root of the host, each with its outcome\n"
    "off, on    the same in a user-namespaced sandbox, alone and served by sidecall-worker\n"
    "run-cases  the cases right here, in directories below SCRATCH; prints a transcript\n"
    "judge      what `all` says, of three transcripts\n"
    "policy     the policy that `on` is run under\n"
    "\n"
    "--cases    another program's cases: the same ones, built for another ABI\n"
    "--only     the cases whose name has TEXT in it\n";

int usage() {
  std::fputs(std::string(kUsageText).c_str(), stderr);
  return kUsage;
}

int complain(const Error& error) {
  std::fprintf(stderr, "%s: %s\n", std::string(grid().name).c_str(), error.message.c_str());
  return kBad;
}

int print_judgement(std::string_view name, const Transcripts& transcripts) {
  const Judgement judgement = judge(name, transcripts);
  std::fputs(judgement.text.c_str(), stdout);
  return judgement.good ? 0 : kBad;
}

using RunIn = Result<Transcript> (*)(const RunRequest&);

int run_all(std::string_view name, const RunRequest& request) {
  Transcripts transcripts;
  for (const auto& [run, transcript] :
       {std::pair<RunIn, Transcript*>{run_native, &transcripts.native},
        {run_off, &transcripts.off},
        {run_on, &transcripts.on}}) {
    auto came = run(request);
    if (!came) return complain(came.error());
    *transcript = *std::move(came);
  }
  return print_judgement(name, transcripts);
}

// Shows outcomes. Good and bad are for judge(): off, cases are meant to fail.
int run_one(std::string_view name, std::string_view place, RunIn run, const RunRequest& request) {
  const auto transcript = run(request);
  if (!transcript) return complain(transcript.error());
  for (const CaseResult& result : *transcript) std::fputs(to_text(result).c_str(), stdout);
  std::printf("%s: %s %s\n", std::string(name).c_str(), std::string(place).c_str(),
              counts(*transcript).c_str());
  return 0;
}

int judge_files(std::span<char* const> paths) {
  if (paths.size() != 3) return usage();
  Transcripts transcripts;
  std::size_t index = 0;
  for (Transcript* into : {&transcripts.native, &transcripts.off, &transcripts.on}) {
    const char* const path = paths[index++];
    const auto text = read_file(path);
    if (!text) return complain(text.error());
    auto parsed = parse_transcript(*text);
    if (!parsed) return complain(Error{std::string(path) + ": no transcript"});
    *into = *std::move(parsed);
  }
  return print_judgement(grid().name, transcripts);
}

int run_places(std::span<char* const> arguments) {
  const Grid cases = grid();
  std::string name(cases.name);
  std::string program = "/proc/self/exe";
  std::string only;
  std::string_view mode = "all";
  while (!arguments.empty()) {
    const std::string_view word = arguments.front();
    const bool is_option = word == "--cases" || word == "--only";
    if ((is_option && arguments.size() == 1) || (!is_option && arguments.size() != 1)) {
      return usage();
    }
    if (!is_option) {
      mode = word;
    } else if (word == "--only") {
      only = arguments[1];
    } else {
      program = arguments[1];
      name = program.substr(program.rfind('/') + 1);
    }
    arguments = arguments.subspan(is_option ? 2 : 1);
  }
  if (::geteuid() != 0) {
    std::printf("%s: skipped: needs root\n", name.c_str());
    return kSkipped;
  }
  const auto file = open_file(program, O_RDONLY);
  if (!file) return complain(file.error());
  const RunRequest request{.program = file->get(),
                           .policy = cases.policy,
                           .wants_image = cases.wants_image,
                           .only = only};
  if (mode == "all") return run_all(name, request);
  if (mode == "native") return run_one(name, mode, run_native, request);
  if (mode == "off") return run_one(name, mode, run_off, request);
  if (mode == "on") return run_one(name, mode, run_on, request);
  return usage();
}

int run_main(std::span<char* const> arguments) {
  const std::string_view mode = arguments.empty() ? "" : arguments.front();
  if (mode == "run-cases") {
    const int status = run_cases_command(arguments.subspan(1));
    return status == kUsage ? usage() : status;
  }
  if (mode == "judge") return judge_files(arguments.subspan(1));
  if (mode == "policy" && arguments.size() == 1) {
    std::puts(std::string(grid().policy).c_str());
    return 0;
  }
  return run_places(arguments);
}

}  // namespace
}  // namespace sidecall::grid

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  return sidecall::grid::run_main(arguments.subspan(1));
}
