#include "worker/launcher.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/pass_fd.h"
#include "kernel/fuse_program.h"
#include "kernel/fuse_room.h"

namespace sidecall::worker {
namespace {

using emulators::Step;
using emulators::StepResult;

// The launcher's descriptors, beside the standard ones.
constexpr int kLauncherControlFd = 3;
constexpr int kLauncherSandboxFd = 4;  // a pidfd of the sandbox's first process

// Of programs that did not come up: what a container can make us write to the log.
constexpr int kMostTold = 16;
constexpr int kDidNotComeUp = 1;

SysResult<StepResult> launch_one(std::string_view bytes, std::vector<UniqueFd> fds,
                                 const Dispatcher& dispatcher, kernel::FusePrograms& programs) {
  const auto decoded = emulators::decode_step(bytes, std::move(fds));
  if (!decoded) return sys_failure(EINVAL);
  const emulators::Emulator* emulator = dispatcher.emulator(decoded->instance);
  if (emulator == nullptr) return sys_failure(EINVAL);
  return emulator->launch(decoded->step, programs);
}

bool answer(const UniqueFd& socket, const SysResult<StepResult>& result) {
  std::vector<int> fds;
  if (result) {
    for (const UniqueFd& fd : result->fds) fds.push_back(fd.get());
  }
  return send_with_fds(socket.get(), emulators::encode(result), fds).has_value();
}

// The first process of a program's pid namespace.
[[noreturn]] void serve_one(Received received, bool tells, const Dispatcher& dispatcher) {
  ::prctl(PR_SET_NAME, "sidecall-fuse");
  ::close(kLauncherControlFd);
  UniqueFd socket = std::move(received.fds.front());
  received.fds.erase(received.fds.begin());
  kernel::KernelFusePrograms programs(tells);
  {
    const auto result = launch_one(received.bytes, std::move(received.fds), dispatcher, programs);
    if (!answer(socket, result) || !result) ::_exit(kDidNotComeUp);
  }  // the mount is the worker's alone now
  socket.reset();
  kernel::outlast_programs(kLauncherSandboxFd);
}

[[noreturn]] void run(const Dispatcher& dispatcher) {
  int running = 0;
  int failed = 0;
  for (;;) {
    auto received = receive_with_fds(kLauncherControlFd, emulators::kMostStepBytes);
    if (!received || received->bytes.empty()) ::_exit(0);
    if (received->fds.empty() || received->fds_cut) continue;
    for (int status = 0; ::waitpid(-1, &status, WNOHANG) > 0; --running) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == kDidNotComeUp) ++failed;
    }
    if (running >= Launcher::kMostPrograms) {
      answer(received->fds.front(), sys_failure(ENOSPC));
      continue;
    }
    const int child = kernel::fork_first_process();
    if (child == 0) serve_one(std::move(*received), failed < kMostTold, dispatcher);
    if (child < 0) {
      answer(received->fds.front(), sys_failure(errno));
      continue;
    }
    ++running;
  }
}

// An agent, and with it all that it starts, may be what the kernel is to spare when memory is short
// (OOMScoreAdjust= of its unit). A program is not.
void forgo_protection() {
  const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  static_cast<void>(!::write(file.get(), "0", 1));
}

[[noreturn]] void become_launcher(int control, int sandbox, pid_t worker,
                                  const Dispatcher& dispatcher, const kernel::SandboxUsers& users) {
  ::prctl(PR_SET_NAME, "sidecall-launch");
  forgo_protection();
  if (auto entered = kernel::enter_fuse_room(users); !entered) {
    std::fprintf(stderr, "sidecall-worker: the launcher: %s\n", entered.error().message.c_str());
    ::_exit(1);
  }
  // After the change of user, which takes the signal back.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != worker) ::_exit(0);
  constexpr int kAside = 16;
  const std::array<int, 2> aside{::fcntl(control, F_DUPFD, kAside),
                                 ::fcntl(sandbox, F_DUPFD, kAside)};
  if (::dup2(aside[0], kLauncherControlFd) < 0 || ::dup2(aside[1], kLauncherSandboxFd) < 0) {
    ::_exit(1);
  }
  ::syscall(SYS_close_range, kLauncherSandboxFd + 1, ~0U, 0);
  run(dispatcher);
}

}  // namespace

Result<std::unique_ptr<Launcher>> Launcher::start(const Dispatcher& dispatcher,
                                                  const kernel::SandboxUsers& users,
                                                  pid_t first_pid) {
  const UniqueFd sandbox(static_cast<int>(::syscall(SYS_pidfd_open, first_pid, 0)));
  if (!sandbox) return errno_failure("opening a pidfd on the sandbox's first process");
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_failure("making a socket pair for the launcher");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t worker = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return errno_failure("forking the launcher");
  if (child == 0) become_launcher(theirs.get(), sandbox.get(), worker, dispatcher, users);
  return std::unique_ptr<Launcher>(new Launcher(std::move(ours)));
}

SysResult<StepResult> Launcher::perform(std::uint32_t instance, const Step& step) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return sys_failure(errno);
  }
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  std::vector<int> fds{theirs.get()};
  for (const UniqueFd& fd : step.fds) fds.push_back(fd.get());
  if (!send_with_fds(control_.get(), encode(instance, step), fds)) {
    // The worker's successor has another.
    std::fputs("sidecall-worker: the launcher has ended\n", stderr);
    std::abort();
  }
  theirs.reset();
  auto received = receive_with_fds(ours.get(), emulators::kMostStepBytes);
  if (!received || received->bytes.empty()) return sys_failure(EIO);
  auto result = emulators::decode_result(received->bytes, std::move(received->fds));
  if (!result) return sys_failure(EIO);
  // Whoever has answered lets go of the mount, and then of its end of the socket: until that is
  // heard, umount(2) could find the mount busy.
  static_cast<void>(receive_with_fds(ours.get(), 1));
  return std::move(*result);
}

}  // namespace sidecall::worker
