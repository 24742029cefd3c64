#include "placement/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace sidecall::placement {
namespace {

// Between fork and exec in a process that may have other threads: bare system calls only. `aside`
// has room for as many as `fds`.
[[noreturn]] void become(std::span<const int> fds, std::span<int> aside, const char* path,
                         char* const* argv, const cpu_set_t* cpus) {
  // A terminal's signals are for the command, not for its worker. No session of its own: that would
  // also be a scheduler's autogroup of its own (sched(7)), and changing groups costs every call.
  ::setpgid(0, 0);
  if (cpus != nullptr) ::sched_setaffinity(0, sizeof *cpus, cpus);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  // First out of the way of the numbers that they are to get, then onto them, without O_CLOEXEC.
  constexpr int kAside = 16;
  for (std::size_t index = 0; index < fds.size(); ++index) {
    aside[index] = ::fcntl(fds[index], F_DUPFD, kAside);
  }
  for (std::size_t index = 0; index < fds.size(); ++index) {
    if (::dup2(aside[index], kFirstSpawnedFd + static_cast<int>(index)) < 0) ::_exit(127);
  }
  ::syscall(SYS_close_range, kFirstSpawnedFd + fds.size(), ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::array<char*, 1> environment{nullptr};
  ::execve(path, argv, environment.data());
  ::_exit(127);
}

}  // namespace

Result<Spawned> spawn(const std::string& path, const std::string& argument,
                      std::span<const int> fds, const CpuSet& cpus) {
  if (::access(path.c_str(), X_OK) != 0) return errno_failure("starting " + path);
  std::string name = path.substr(path.rfind('/') + 1);
  std::string copy = argument;
  const std::array<char*, 3> argv{name.data(), copy.data(), nullptr};
  std::vector<int> aside(fds.size());
  const pid_t pid = ::fork();
  if (pid < 0) return errno_failure("forking for " + path);
  if (pid == 0) {
    become(fds, aside, path.c_str(), argv.data(), cpus.empty() ? nullptr : &cpus.mask());
  }
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return errno_failure("opening a pidfd on " + path);
  return Spawned{pid, std::move(pidfd)};
}

// pidfd_open(2): "Pid" in its fdinfo is the process's number here, -1 once it has been reaped.
Result<pid_t> pid_of(int pidfd) {
  auto info = read_file("/proc/self/fdinfo/" + std::to_string(pidfd), 4096);
  if (!info) return pass_on(std::move(info), "looking at a pidfd");
  constexpr std::string_view kKey = "\nPid:\t";
  const std::size_t at = info->find(kKey);
  if (at == std::string::npos) return failure("a descriptor that should be a pidfd is none");
  const char* const digits = info->c_str() + at + kKey.size();
  return static_cast<pid_t>(std::max(0L, std::strtol(digits, nullptr, 10)));
}

}  // namespace sidecall::placement
