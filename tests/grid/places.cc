#include "grid/places.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/file.h"
#include "cli/filter.h"
#include "grid/image.h"
#include "kernel/sandbox.h"
#include "oci/seccomp.h"
#include "policy/compile.h"
#include "policy/policy.h"
#include "support/temporary_directory.h"

namespace sidecall::grid {
namespace {

using Troubles = testing::Checks;  // what fails there is trouble with the place

constexpr std::size_t kLongestTranscript = std::size_t{4} << 20U;

// A directory whose owner is root inside, and the file that the cases' output goes to.
class Stage {
 public:
  Stage(uid_t owner, bool wants_image) : output_(::memfd_create("grid-output", MFD_CLOEXEC)) {
    if (wants_image) image_.emplace(directory_.path());
    const char* const path = directory_.path().c_str();
    ready_ = ::chmod(path, 0755) == 0 && ::chown(path, owner, owner) == 0;
  }

  // Runs the cases below the calling process and waits for them.
  void run(const RunRequest& request, const char* place, Troubles& troubles) const {
    troubles.expect(ready_, "no scratch directory");
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(output_.get(), STDOUT_FILENO);
      std::array<std::string, 5> words = {"grid", "run-cases", place, directory_.path(),
                                          request.only};
      std::array<char*, 6> arguments{};
      std::transform(words.begin(), words.end(), arguments.begin(),
                     [](std::string& word) { return word.data(); });
      ::fexecve(request.program, arguments.data(), environ);
      ::_exit(127);
    }
    int status = 0;
    troubles.expect(::waitpid(child, &status, 0) == child, "no process for the cases");
    troubles.expect(status == 0, "run-cases: wait status " + std::to_string(status));
  }

  // `trouble` is what the sandbox had to say.
  [[nodiscard]] Result<Transcript> transcript(const std::string& trouble) const {
    if (!trouble.empty()) return failure(trouble.substr(0, trouble.size() - 1));
    if (::lseek(output_.get(), 0, SEEK_SET) != 0) return errno_failure("the cases' output");
    auto text = read_fd(output_.get(), kLongestTranscript);
    if (!text) return pass_on(std::move(text), "the cases' output");
    auto parsed = parse_transcript(*text);
    if (!parsed) return failure("the cases' output is no transcript");
    return *std::move(parsed);
  }

 private:
  support::TemporaryDirectory directory_;
  std::optional<Image> image_;
  UniqueFd output_;
  bool ready_ = false;
};

// As an engine starts a container: all namespaces, and limits.
testing::SandboxOptions container() {
  testing::SandboxOptions options;
  options.more_namespaces = CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP;
  options.memory_limit = kMemoryLimit;
  options.served = false;
  return options;
}

Result<Transcript> run_in(const testing::SandboxOptions& options, const RunRequest& request) {
  const Stage stage(testing::kOutsideRoot, request.wants_image);
  return stage.transcript(testing::run_in_sandbox(
      options, [&](Troubles& troubles) { stage.run(request, "--container", troubles); }));
}

}  // namespace

Result<Transcript> run_native(const RunRequest& request) {
  const Stage stage(0, request.wants_image);
  return stage.transcript(
      testing::run_natively([&](Troubles& troubles) { stage.run(request, "--native", troubles); }));
}

Result<Transcript> run_off(const RunRequest& request) {
  return run_in(container(), request);
}

Result<Transcript> run_on(const RunRequest& request) {
  auto policy = policy::parse_policy("grid", request.policy);
  if (!policy) return pass_on(std::move(policy));
  auto program = policy::compile_program(*policy);
  if (!program) return pass_on(std::move(program));
  // The base of a container without a profile.
  auto profile = policy::compile_profile(*policy, oci::allow_all_profile());
  if (!profile) return pass_on(std::move(profile));
  auto filter = cli::Filter::build(profile->profile);
  if (!filter) return pass_on(std::move(filter));
  testing::SandboxOptions options = container();
  options.served = true;
  options.program = *std::move(program);
  options.install_filter = [&filter] { return filter->install(); };
  return run_in(options, request);
}

}  // namespace sidecall::grid
