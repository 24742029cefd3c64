#include "kernel/trial.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "base/pass_fd.h"

namespace sidecall::kernel {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kNativeArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kNativeArch = AUDIT_ARCH_AARCH64;
#else
#error "sidecall runs on x86_64 and aarch64"
#endif

}  // namespace

Result<UniqueFd> install_notify_filter(long nr, unsigned long filter_flags) {
  std::array<sock_filter, 6> code = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, arch)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, kNativeArch},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(nr)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog program{.len = code.size(), .filter = code.data()};
  const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | filter_flags;
  const auto install = [&] {
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
  };
  int fd = install();
  if (fd < 0 && errno == EACCES && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) fd = install();
  if (fd < 0) return errno_failure("installing a seccomp filter with a listener");
  return UniqueFd(fd);
}

Result<Trial> Trial::start(long nr, const std::function<int()>& body, unsigned long filter_flags) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_failure("making a socket pair");
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return errno_failure("forking");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ours.reset();
    auto listener = install_notify_filter(nr, filter_flags);
    const std::string message = listener ? "ok" : listener.error().message;
    const int fd = listener ? listener->get() : -1;
    if (!send_with_fd(theirs.get(), message, fd) || !listener) ::_exit(125);
    listener->reset();
    theirs.reset();
    ::_exit(body());
  }
  theirs.reset();
  Trial trial(pid, UniqueFd());
  auto received = receive_with_fds(ours.get(), 256);
  if (!received) return pass_on(std::move(received));
  if (received->fds.size() != 1) return failure(received->bytes);
  trial.listener_ = std::move(received->fds.front());
  return trial;
}

Trial::Trial(Trial&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), listener_(std::move(other.listener_)) {}

Trial& Trial::operator=(Trial&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(listener_, other.listener_);
  return *this;
}

Trial::~Trial() {
  if (pid_ <= 0) return;
  kill();
  static_cast<void>(wait());
}

void Trial::kill() const {
  ::kill(pid_, SIGKILL);
}

int Trial::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace sidecall::kernel
