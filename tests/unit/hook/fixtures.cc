#include "unit/hook/fixtures.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/paths.h"

namespace sidecall::oci_hook {
namespace {

UniqueFd bind_hook_socket(const std::string& directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = in_directory(directory, kHookSocket);
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0)
      << path << ": " << std::strerror(errno);
  return socket;
}

}  // namespace

std::string config_text(std::string_view name) {
  auto text = read_file(std::string(DATA_DIRECTORY "/").append(name).append(".json"));
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or("");
}

oci::Config config_named(std::string_view name) {
  return parse_config(config_text(name));
}

oci::Config parse_config(std::string_view text) {
  auto config = oci::Config::parse(text);
  EXPECT_TRUE(config) << config.error().message;
  return *std::move(config);
}

policy::Policy test_policy(std::string_view name) {
  auto policy = policy::parse_policy(name, kPolicyText);
  EXPECT_TRUE(policy) << policy.error().message;
  return *std::move(policy);
}

TemporaryDirectory::TemporaryDirectory()
    : path_((std::filesystem::temp_directory_path() / "sidecall-test.XXXXXX").string()) {
  EXPECT_NE(::mkdtemp(path_.data()), nullptr);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Ending run_command(const std::string& command) {
  // NOLINTNEXTLINE(cert-env33-c): a test's own words
  FILE* stream = ::popen(("{ " + command + "; } 2>&1").c_str(), "r");
  EXPECT_NE(stream, nullptr);
  Ending ending;
  for (int c = 0; (c = std::fgetc(stream)) != EOF;) ending.text += static_cast<char>(c);
  const int status = ::pclose(stream);
  if (WIFEXITED(status)) ending.status = WEXITSTATUS(status);
  return ending;
}

FakeAgent::FakeAgent(const std::string& directory, std::string answer, bool silent)
    : listener_(bind_hook_socket(directory)) {
  EXPECT_EQ(::listen(listener_.get(), 8), 0);
  thread_ = std::jthread([this, answer = std::move(answer), silent] { serve(answer, silent); });
}

FakeAgent::~FakeAgent() {
  (void)finish();
}

std::vector<std::string> FakeAgent::finish() {
  ::shutdown(listener_.get(), SHUT_RDWR);  // wakes accept(2)
  if (thread_.joinable()) thread_.join();
  return requests_;
}

void FakeAgent::serve(const std::string& answer, bool silent) {
  std::vector<UniqueFd> kept;
  for (;;) {
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return;
    if (silent) {
      kept.push_back(std::move(connection));
      continue;
    }
    auto request = read_fd(connection.get(), 32U << 20);
    requests_.push_back(request.value_or("(unreadable)"));
    (void)write_fd(connection.get(), answer);
  }
}

void leave_dead_socket(const std::string& directory) {
  (void)bind_hook_socket(directory);
}

}  // namespace sidecall::oci_hook
