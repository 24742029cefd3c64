#include "worker/helper.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/pass_fd.h"
#include "kernel/privileges.h"

namespace sidecall::worker {
namespace {

using emulators::Step;
using emulators::StepResult;

// The helper's descriptors, beside the standard ones.
constexpr int kHelperControlFd = 3;
constexpr int kHelperUsersFd = 4;  // the sandbox's user namespace
constexpr int kHelperProcFd = 5;   // /proc

std::vector<int> numbers_of(const std::vector<UniqueFd>& fds) {
  std::vector<int> numbers;
  numbers.reserve(fds.size());
  for (const UniqueFd& fd : fds) numbers.push_back(fd.get());
  return numbers;
}

class Line final : public emulators::Helper {
 public:
  explicit Line(UniqueFd socket) : socket_(std::move(socket)) {}

  SysResult<StepResult> perform(std::uint32_t instance, const Step& step) override {
    const std::string request = encode(instance, step);
    if (request.size() > emulators::kMostStepBytes) return sys_failure(E2BIG);
    if (!send_with_fds(socket_.get(), request, numbers_of(step.fds))) lost();
    auto answer = receive_with_fds(socket_.get(), emulators::kMostStepBytes);
    if (!answer || answer->bytes.empty()) lost();
    auto result = emulators::decode_result(answer->bytes, std::move(answer->fds));
    if (!result) lost();
    return std::move(*result);
  }

 private:
  [[noreturn]] static void lost() {
    std::fputs("sidecall-worker: the helper has ended\n", stderr);
    std::abort();
  }
  UniqueFd socket_;
};

SysResult<StepResult> perform_one(Received received, const Dispatcher& dispatcher,
                                  kernel::HostActions& host) {
  const auto decoded = emulators::decode_step(received.bytes, std::move(received.fds));
  if (!decoded || received.fds_cut) return sys_failure(EINVAL);
  const emulators::Emulator* emulator = dispatcher.emulator(decoded->instance);
  if (emulator == nullptr) return sys_failure(EINVAL);
  return emulator->perform(decoded->step, host);
}

void serve_line(const UniqueFd& socket, const Dispatcher& dispatcher,
                const kernel::SandboxUsers& users) {
  auto host = kernel::become_host_actor(users, kHelperProcFd);
  if (!host) {
    std::fprintf(stderr, "sidecall-worker: the helper: %s\n", host.error().message.c_str());
    std::abort();
  }
  perform_steps(socket.get(), dispatcher, **host);
}

// The helper's main thread: a line a message, until the worker closes its end.
[[noreturn]] void run(int control, const Dispatcher& dispatcher,
                      const kernel::SandboxUsers& users) {
  for (;;) {
    auto message = receive_with_fds(control, 1);
    if (!message || message->bytes.empty()) ::_exit(0);
    if (message->fds.size() != 1) continue;
    std::thread([line = std::move(message->fds.front()), &dispatcher, &users] {
      serve_line(line, dispatcher, users);
    }).detach();
  }
}

[[noreturn]] void become_helper(int control, pid_t worker, const Dispatcher& dispatcher,
                                kernel::SandboxUsers& users, int proc) {
  ::prctl(PR_SET_NAME, "sidecall-helper");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != worker) ::_exit(0);
  // Listeners, the journal's memory and the rest of the worker's are none of its business.
  constexpr int kAside = 16;
  const std::array<int, 3> aside{::fcntl(control, F_DUPFD, kAside),
                                 ::fcntl(users.name_space.release(), F_DUPFD, kAside),
                                 ::fcntl(proc, F_DUPFD, kAside)};
  for (const int fd : {kHelperControlFd, kHelperUsersFd, kHelperProcFd}) {
    if (::dup2(aside[static_cast<std::size_t>(fd - kHelperControlFd)], fd) < 0) ::_exit(1);
  }
  ::syscall(SYS_close_range, kHelperProcFd + 1, ~0U, 0);
  users.name_space = UniqueFd(kHelperUsersFd);
  if (auto dropped = kernel::drop_privileges(dispatcher.rights(!users.own).host_capabilities,
                                             kernel::Duty::kServing);
      !dropped) {
    std::fprintf(stderr, "sidecall-worker: the helper: %s\n", dropped.error().message.c_str());
    ::_exit(1);
  }
  run(kHelperControlFd, dispatcher, users);
}

}  // namespace

std::unique_ptr<emulators::Helper> helper_line(UniqueFd socket) {
  return std::make_unique<Line>(std::move(socket));
}

void perform_steps(int socket, const Dispatcher& dispatcher, kernel::HostActions& host) {
  for (;;) {
    auto received = receive_with_fds(socket, emulators::kMostStepBytes);
    if (!received || received->bytes.empty()) return;
    const auto result = perform_one(std::move(*received), dispatcher, host);
    const std::vector<int> fds = result ? numbers_of(result->fds) : std::vector<int>();
    if (!send_with_fds(socket, emulators::encode(result), fds)) return;
  }
}

Result<HelperProcess> HelperProcess::start(const Dispatcher& dispatcher,
                                           kernel::SandboxUsers& users, int proc) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_failure("making a socket pair for the helper");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t worker = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return errno_failure("forking the helper");
  if (child == 0) become_helper(theirs.get(), worker, dispatcher, users, proc);
  return HelperProcess(std::move(ours));
}

Result<std::unique_ptr<emulators::Helper>> HelperProcess::connect() const {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_failure("making a line to the helper");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  auto sent = send_with_fd(control_.get(), "+", theirs.get());
  if (!sent) return pass_on(std::move(sent), "the helper");
  return helper_line(std::move(ours));
}

}  // namespace sidecall::worker
