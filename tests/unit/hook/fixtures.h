// What the tests of the hook share: real config.json files, a policy, and a stand-in for the agent.
#pragma once

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "oci/config.h"
#include "oci_hook/edit.h"
#include "policy/policy.h"

namespace sidecall::oci_hook {

// "crun" and "runc": what their `spec` writes. "podman": what it gives to a precreate hook.
inline constexpr std::array kConfigNames = {"crun", "runc", "podman"};
[[nodiscard]] std::string config_text(std::string_view name);
[[nodiscard]] oci::Config config_named(std::string_view name);
[[nodiscard]] oci::Config parse_config(std::string_view text);

inline constexpr std::string_view kPolicyText = R"({"rules": [{"emulate": "sysinfo"}]})";
[[nodiscard]] policy::Policy test_policy(std::string_view name = "default");

[[nodiscard]] inline Installation test_installation() {
  return {.hook_path = "/usr/libexec/sidecall/sidecall-hook", .run_directory = "/run/sidecall"};
}

// A directory of its own under the system's one for temporary files, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Ending {
  int status = -1;   // of an exit
  std::string text;  // standard output and error
};

// What becomes of a command of the shell.
[[nodiscard]] Ending run_command(const std::string& command);

// Listens on hook.sock in `directory` and gives each connection the same answer, once its request
// has ended. With `silent`, it never answers and keeps the connection.
class FakeAgent {
 public:
  FakeAgent(const std::string& directory, std::string answer, bool silent = false);
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;
  ~FakeAgent();
  // Ends it; what it was sent, one string per connection.
  [[nodiscard]] std::vector<std::string> finish();

 private:
  void serve(const std::string& answer, bool silent);

  UniqueFd listener_;
  std::vector<std::string> requests_;
  std::jthread thread_;
};

// Binds hook.sock in `directory` and closes it: a socket whose owner is dead.
void leave_dead_socket(const std::string& directory);

}  // namespace sidecall::oci_hook
