#include "grid/run_cases.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace sidecall::grid {
namespace {

// Far beyond what a case takes: one that hangs is a failure and not a hanging run.
constexpr unsigned kPatienceSeconds = 30;

// The file that the checks of one case write to.
class Record {
 public:
  Record() : fd_(::memfd_create("grid-record", 0)) { ::fcntl(fd_, F_SETFL, O_APPEND); }
  ~Record() { ::close(fd_); }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::string text() const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) return "bno record of the case\n";
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    text.resize(
        static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(fd_, text.data(), text.size(), 0))));
    return text;
  }

 private:
  int fd_;
};

bool applies(const Case& one, Place place) {
  switch (one.where) {
    case Where::kEverywhere:
      return true;
    case Where::kNativeOnly:
      return place == Place::kNative;
    case Where::kContainerOnly:
      return place == Place::kContainer;
  }
  return false;
}

[[noreturn]] void become_case(const Case& one, int record, const std::string& scratch) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(kPatienceSeconds);
  const Checks check(record, scratch);
  check.arrange("entering the scratch directory", ::chdir(scratch.c_str()) == 0);
  ::umask(022);
  one.body(check);
  ::_exit(0);
}

// The lines of one kind, joined: the first few.
std::string lines_of(std::string_view record, char kind) {
  constexpr int kMostLines = 4;
  std::string lines;
  int count = 0;
  while (!record.empty()) {
    const auto end = std::min(record.find('\n'), record.size() - 1);
    if (record.front() == kind && ++count <= kMostLines) {
      lines += (lines.empty() ? "" : "; ") + std::string(record.substr(1, end - 1));
    }
    record.remove_prefix(end + 1);
  }
  if (count > kMostLines) lines += "; and " + std::to_string(count - kMostLines) + " more";
  std::replace(lines.begin(), lines.end(), '\t', ' ');
  return lines;
}

// The worst kind of line decides.
void judge_record(std::string_view record, CaseResult& result) {
  for (const auto& [kind, outcome] :
       {std::pair{kBrokenRecord, Outcome::kBroken}, std::pair{kSkippedRecord, Outcome::kSkipped},
        std::pair{kFailedRecord, Outcome::kFailed}}) {
    result.detail = lines_of(record, kind);
    result.outcome = outcome;
    if (!result.detail.empty()) return;
  }
  result.outcome = Outcome::kHeld;
}

}  // namespace

CaseResult run_case(const Case& one, Place place, const std::string& scratch) {
  CaseResult result{
      .outcome = Outcome::kNotApplicable, .off = one.off, .name = std::string(one.name)};
  if (!applies(one, place)) return result;
  result.outcome = Outcome::kBroken;
  std::string directory = scratch + "/case-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr || ::chmod(directory.c_str(), 0755) != 0) {
    result.detail = "no scratch directory: " + std::string(std::strerror(errno));
    return result;
  }
  const Record record;
  const pid_t child = ::fork();
  if (child == 0) become_case(one, record.fd(), directory);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::error_code kept;
  std::filesystem::remove_all(directory, kept);
  if (status != 0) {
    result.detail = WIFSIGNALED(status) ? "ended by " + std::string(::strsignal(WTERMSIG(status)))
                                        : "exited with " + std::to_string(WEXITSTATUS(status));
    return result;
  }
  judge_record(record.text(), result);
  return result;
}

int run_cases(const Grid& grid, Place place, const std::string& scratch, std::string_view only) {
  for (const Theme& theme : grid.themes) {
    for (const Case& one : theme.cases) {
      const std::string name = std::string(theme.title) + ": " + std::string(one.name);
      if (name.find(only) == std::string::npos) continue;
      CaseResult result = run_case(one, place, scratch);
      result.name = name;
      std::fputs(to_text(result).c_str(), stdout);
      // Nothing may be left in a buffer that the next case's process would inherit.
      if (std::fflush(stdout) != 0) return 1;
    }
  }
  return 0;
}

int run_cases_command(std::span<char* const> arguments) {
  if (arguments.size() < 2 || arguments.size() > 3) return 2;
  const std::string_view place = arguments[0];
  if (place != "--native" && place != "--container") return 2;
  // Without links in it, as Checks promise.
  std::error_code error;
  const auto scratch = std::filesystem::canonical(arguments[1], error);
  if (error) {
    std::fprintf(stderr, "%s: %s\n", arguments[1], error.message().c_str());
    return 1;
  }
  return run_cases(grid(), place == "--native" ? Place::kNative : Place::kContainer,
                   scratch.string(), arguments.size() == 3 ? arguments[2] : "");
}

}  // namespace sidecall::grid
