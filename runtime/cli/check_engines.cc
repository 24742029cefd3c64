#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "cli/capture.h"
#include "cli/checks.h"
#include "cli/engine_version.h"

namespace sidecall::cli {
namespace {

using enum Check::State;

// An OCI runtime: it sends the listener to the agent itself.
struct Runtime {
  std::string_view name;
  EngineVersion first_version;     // that knows linux.seccomp.listenerPath
  std::string_view seccomp_marks;  // what --version prints where it is built with seccomp
};
constexpr std::array<Runtime, 2> kRuntimes = {Runtime{"crun", {1, 0}, "+SECCOMP"},
                                              Runtime{"runc", {1, 1}, "libseccomp"}};

// Engines above them without a hook that may edit config.json: sidecall-runtime does that for them.
constexpr std::array<std::string_view, 3> kByRuntime = {"docker", "containerd", "crio"};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Empty where it is not installed.
std::optional<Check> check_runtime(const Runtime& runtime) {
  auto output = capture({std::string(runtime.name), "--version"});
  if (!output) return std::nullopt;
  Check check{.state = kAdvice, .name = std::string(runtime.name), .detail = first_line(*output)};
  const auto version = find_version(*output);
  if (!version || *version < runtime.first_version) {
    check.detail += fmt::format(": too old for seccomp listeners; install {}.{} or newer",
                                runtime.first_version.major, runtime.first_version.minor);
  } else if (output->find(runtime.seccomp_marks) == std::string::npos) {
    check.detail += ": built without seccomp; install a build that has it";
  } else {
    check.state = kGood;
  }
  return check;
}

std::optional<Check> check_podman() {
  auto output = capture({"podman", "--version"});
  if (!output) return std::nullopt;
  Check check{.state = kGood, .name = "podman", .detail = first_line(*output)};
  constexpr std::array kHooks = {"/usr/share/containers/oci/hooks.d/sidecall-podman.json",
                                 "/etc/containers/oci/hooks.d/sidecall-podman.json"};
  for (const char* path : kHooks) {
    if (::access(path, R_OK) == 0) return check;
  }
  check.state = kAdvice;
  check.detail +=
      ": our hook is not in its hooks.d; run podman with --hooks-dir, naming the "
      "directory of sidecall-podman.json, or copy that file to "
      "/etc/containers/oci/hooks.d";
  return check;
}

}  // namespace

std::vector<Check> check_engines() {
  std::vector<Check> checks;
  for (const Runtime& runtime : kRuntimes) {
    if (auto check = check_runtime(runtime)) checks.push_back(*std::move(check));
  }
  if (checks.empty()) {
    checks.push_back(
        {.state = kAdvice,
         .name = "OCI runtime",
         .detail = "neither crun nor runc is in PATH; only `sidecall run` works here"});
  }
  if (auto check = check_podman()) checks.push_back(*std::move(check));
  for (const std::string_view name : kByRuntime) {
    auto output = capture({std::string(name), "--version"});
    if (!output) continue;
    checks.push_back({.state = kGood,
                      .name = std::string(name),
                      .detail = first_line(*output) + ": by the runtime sidecall-runtime"});
  }
  return checks;
}

}  // namespace sidecall::cli
