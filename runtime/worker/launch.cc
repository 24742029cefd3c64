#include "worker/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/pass_fd.h"
#include "worker/protocol.h"

namespace sidecall::worker {
namespace {

Result<UniqueFd> program_memory(const emulators::Program& program) {
  UniqueFd memory(::memfd_create("sidecall-program", MFD_CLOEXEC));
  if (!memory) return errno_failure("making memory for the program");
  if (auto written = write_fd(memory.get(), encode(program)); !written) {
    return pass_on(std::move(written), "the worker's program");
  }
  return memory;
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

// Between fork and exec in a process that may have other threads: bare system calls only.
[[noreturn]] void become_worker(const std::array<int, 3>& fds, const char* path, char* const* argv,
                                const cpu_set_t* cpus) {
  // A terminal's signals are for the command, not for its worker. No session of its own: that would
  // also be a scheduler's autogroup of its own (sched(7)), and changing groups costs every call.
  ::setpgid(0, 0);
  if (cpus != nullptr) ::sched_setaffinity(0, sizeof *cpus, cpus);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  // First out of the way of the numbers that they are to get, then onto them, without O_CLOEXEC.
  constexpr int kAside = 16;
  std::array<int, 3> aside{};
  for (std::size_t index = 0; index < fds.size(); ++index) {
    aside[index] = ::fcntl(fds[index], F_DUPFD, kAside);
  }
  for (std::size_t index = 0; index < fds.size(); ++index) {
    if (::dup2(aside[index], kControlFd + static_cast<int>(index)) < 0) ::_exit(127);
  }
  ::syscall(SYS_close_range, kProgramFd + 1, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::array<char*, 1> environment{nullptr};
  ::execve(path, argv, environment.data());
  ::_exit(127);
}

}  // namespace

WorkerProcess::WorkerProcess(pid_t pid, UniqueFd pidfd, UniqueFd control, Statistics statistics)
    : pid_(pid),
      pidfd_(std::move(pidfd)),
      control_(std::move(control)),
      statistics_(std::move(statistics)) {}

Result<WorkerProcess> WorkerProcess::launch(const LaunchOptions& options) {
  if (::access(options.worker_path.c_str(), X_OK) != 0) {
    return errno_failure("starting " + options.worker_path);
  }
  auto statistics =
      options.predecessor == nullptr
          ? Statistics::create(*options.program)
          : Statistics::map(UniqueFd(::fcntl(options.predecessor->fd(), F_DUPFD_CLOEXEC, 0)));
  if (!statistics) return pass_on(std::move(statistics));
  auto program = program_memory(*options.program);
  if (!program) return pass_on(std::move(program));
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_failure("making a socket pair for a worker");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  // Nobody may be reading: a worker that waited for that would keep its sandbox waiting.
  if (::fcntl(theirs.get(), F_SETFL, O_NONBLOCK) != 0) {
    return errno_failure("setting up a worker's control socket");
  }

  std::string name = "sidecall-worker";
  std::string sandbox = options.sandbox;
  const std::array<char*, 3> argv{name.data(), sandbox.data(), nullptr};
  const std::array<int, 3> fds{theirs.get(), statistics->fd(), program->get()};
  const cpu_set_t* cpus = options.cpus.empty() ? nullptr : &options.cpus.mask();
  const pid_t pid = ::fork();
  if (pid < 0) return errno_failure("forking a worker");
  if (pid == 0) become_worker(fds, options.worker_path.c_str(), argv.data(), cpus);
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return errno_failure("opening a pidfd on a worker");
  return WorkerProcess(pid, std::move(pidfd), std::move(ours), std::move(*statistics));
}

Result<WorkerProcess> WorkerProcess::adopt(UniqueFd pidfd, UniqueFd control, UniqueFd memory) {
  if (!pidfd || !control || !memory) return failure("a descriptor of its worker is missing");
  const auto pid = pid_of(pidfd.get());
  if (!pid) return tl::unexpected<Error>(pid.error());
  auto statistics = Statistics::map(std::move(memory));
  if (!statistics) return pass_on(std::move(statistics));
  return WorkerProcess(*pid, std::move(pidfd), std::move(control), std::move(*statistics));
}

Result<void> WorkerProcess::add_listener(int listener, std::uint64_t tag, pid_t pid,
                                         pid_t first_pid) {
  const ToWorker message{
      .kind = ToWorker::Kind::kAddListener, .tag = tag, .pid = pid, .first_pid = first_pid};
  auto sent = send_with_fd(control_.get(), bytes_of(message), listener);
  if (!sent) return pass_on(std::move(sent), "handing a listener to a worker");
  return {};
}

Result<void> WorkerProcess::finish() {
  auto sent = send_with_fd(control_.get(), bytes_of(ToWorker{.kind = ToWorker::Kind::kFinish}), -1);
  if (!sent) return pass_on(std::move(sent), "asking a worker to end");
  return {};
}

Result<void> WorkerProcess::retire() {
  auto sent = send_with_fd(control_.get(), bytes_of(ToWorker{.kind = ToWorker::Kind::kRetire}), -1);
  if (!sent) return pass_on(std::move(sent), "asking a worker to retire");
  return {};
}

Result<WorkerReport> WorkerProcess::receive_report() {
  auto received = receive_with_fds(control_.get(), sizeof(FromWorker));
  if (!received) return pass_on(std::move(received));
  if (received->bytes.empty()) return WorkerReport{.kind = WorkerReport::Kind::kEnded};
  auto message = message_from<FromWorker>(received->bytes);
  if (!message) return pass_on(std::move(message), "from a worker");
  WorkerReport report{.tag = message->tag};
  report.text.assign(message->text.data(), ::strnlen(message->text.data(), message->text.size()));
  switch (message->kind) {
    case FromWorker::Kind::kReady:
      report.kind = WorkerReport::Kind::kReady;
      return report;
    case FromWorker::Kind::kListenerClosed:
      report.kind = WorkerReport::Kind::kListenerClosed;
      return report;
    case FromWorker::Kind::kMessage:
      report.kind = WorkerReport::Kind::kMessage;
      return report;
    case FromWorker::Kind::kEventsWaiting:
      report.kind = WorkerReport::Kind::kEventsWaiting;
      return report;
  }
  return failure("a worker sent a message of an unknown kind");
}

}  // namespace sidecall::worker
