#include "cli/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/unique_fd.h"

namespace sidecall::cli {
namespace {

constexpr std::size_t kMostOutput = 65536;

using Deadline = std::chrono::steady_clock::time_point;

// False where time or room ran out.
bool read_all(int fd, Deadline deadline, std::string& text) {
  std::array<char, 4096> chunk;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<long>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count == 0) return true;
    if (count < 0 || text.size() + static_cast<std::size_t>(count) > kMostOutput) return false;
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<std::string> capture(std::vector<std::string> command, std::chrono::milliseconds timeout) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_failure("pipe2");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments(command.size() + 1, nullptr);
  std::transform(command.begin(), command.end(), arguments.begin(),
                 [](std::string& word) { return word.data(); });
  pid_t pid = -1;
  const int number =
      ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  writer.reset();
  if (number != 0) return errno_failure(command.front(), number);

  std::string text;
  const bool has_ended = read_all(reader.get(), std::chrono::steady_clock::now() + timeout, text);
  if (!has_ended) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!has_ended) return failure(command.front() + " did not end in time");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return failure(command.front() + " failed");
  return text;
}

}  // namespace sidecall::cli
