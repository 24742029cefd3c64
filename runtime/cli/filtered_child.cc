#include "cli/filtered_child.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/pass_fd.h"

namespace sidecall::cli {
namespace {

// The child's messages: 0 with the listener, or an errno; later the errno of a failed execve(2).
void send_result(int socket, int number, int listener) {
  // Where the parent is gone there is nobody to tell.
  (void)send_with_fd(socket, {reinterpret_cast<const char*>(&number), sizeof(number)}, listener);
}

[[noreturn]] void run_child(int socket, pid_t parent, Filter& filter, char* const* arguments,
                            const sigset_t& mask) {
  // The parent may have died before the request to die with it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(1);
  auto listener = filter.install();
  if (!listener) {
    send_result(socket, listener.error().value, -1);
    ::_exit(1);
  }
  send_result(socket, 0, listener->get());
  // Kept, it would leave the command waiting for itself once its supervisor has died.
  listener->reset();
  char go = 0;
  if (::read(socket, &go, 1) != 1) ::_exit(1);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(arguments[0], arguments);
  send_result(socket, errno, -1);
  ::_exit(127);
}

}  // namespace

Result<FilteredChild> FilteredChild::start(Filter& filter, std::vector<std::string> command,
                                           const sigset_t& mask) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return errno_failure("socketpair");
  }
  UniqueFd ours(pair[0]);
  UniqueFd theirs(pair[1]);
  std::vector<char*> arguments(command.size() + 1, nullptr);
  std::transform(command.begin(), command.end(), arguments.begin(),
                 [](std::string& word) { return word.data(); });

  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return errno_failure("fork");
  if (pid == 0) {
    ours.reset();
    run_child(theirs.get(), parent, filter, arguments.data(), mask);
  }
  FilteredChild child(pid, std::move(ours));
  theirs.reset();
  if (auto received = child.receive_listener(); !received) return pass_on(std::move(received));
  return child;
}

FilteredChild::FilteredChild(FilteredChild&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      listener_(std::move(other.listener_)),
      is_released_(other.is_released_) {}

FilteredChild::~FilteredChild() {
  if (pid_ < 0 || is_released_) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<void> FilteredChild::receive_listener() {
  auto received = receive_with_fds(socket_.get(), sizeof(int));
  if (!received) return pass_on(std::move(received), "waiting for the command's listener");
  int number = 0;
  if (received->bytes.size() != sizeof(number)) {
    return failure("the command's process died before it began");
  }
  std::memcpy(&number, received->bytes.data(), sizeof(number));
  if (number == EBUSY) {
    return failure(
        "installing the seccomp filter: we run under a filter that already has a "
        "listener, and the kernel allows one; run outside of that sandbox");
  }
  if (number != 0) return errno_failure("installing the seccomp filter", number);
  if (received->fds.empty()) return failure("the listener was lost: too many open files");
  listener_ = std::move(received->fds.front());
  return {};
}

tl::expected<void, ExecFailure> FilteredChild::release() {
  is_released_ = true;
  const char go = 1;
  int number = 0;
  if (::send(socket_.get(), &go, sizeof(go), MSG_NOSIGNAL) != sizeof(go)) return {};
  // End of file: execve(2) has closed the child's end, or the child is dead, which its parent sees.
  ssize_t count = 0;
  do {
    count = ::read(socket_.get(), &number, sizeof(number));
  } while (count < 0 && errno == EINTR);
  if (count != sizeof(number)) return {};
  return tl::unexpected<ExecFailure>(ExecFailure{Errno{number}});
}

}  // namespace sidecall::cli
