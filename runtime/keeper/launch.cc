#include "keeper/launch.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <utility>

namespace sidecall::keeper {
namespace {

// Its path fits: Link::connect() has been there.
Result<UniqueFd> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof(address.sun_path) - 1));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_failure("removing " + path);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return errno_failure("creating a socket");
  // Before bind(2), which makes the name with it.
  if (::fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0) {
    return errno_failure("setting a socket's mode");
  }
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return errno_failure("binding " + path);
  }
  if (::listen(socket.get(), 1) != 0) return errno_failure("listening on " + path);
  return socket;
}

// In a child of a process that may have other threads: bare system calls only.
[[noreturn]] void become_keeper(int listening, const char* program, char* const* argv) {
  ::setsid();
  if (::chdir("/") != 0) ::_exit(127);
  // Out of the way of the standard streams, which may be closed.
  const int aside = ::fcntl(listening, F_DUPFD, kListeningFd + 1);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  if (::dup2(aside, kListeningFd) < 0) ::_exit(127);
  ::syscall(SYS_close_range, kListeningFd + 1, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::array<char*, 1> environment{nullptr};
  ::execve(program, argv, environment.data());
  ::_exit(127);
}

Result<Link> connect(const std::string& path) {
  auto link = Link::connect(path);
  if (!link) return pass_on(std::move(link));
  if (!*link) return failure("it does not listen on " + path);
  return std::move(**link);
}

}  // namespace

Result<Link> start(const std::string& program, const std::string& path) {
  if (::access(program.c_str(), X_OK) != 0) return errno_failure("starting " + program);
  const auto listening = listen_at(path);
  if (!listening) return tl::unexpected<Error>(listening.error());
  std::string name = "sidecall-keeper";
  std::string where = path;
  const std::array<char*, 3> argv{name.data(), where.data(), nullptr};
  const pid_t child = ::fork();
  if (child < 0) return errno_failure("forking a keeper");
  if (child == 0) {
    // Once more, so that whoever adopts orphans reaps it.
    if (::_Fork() == 0) become_keeper(listening->get(), program.c_str(), argv.data());
    ::_exit(0);
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  // Until it has taken the socket over we would be our own peer there: so once to see that it lives
  // and speaks as we do, and once to stay.
  {
    auto first = connect(path);
    if (!first) return first;
    if (auto kept = first->fetch(); !kept) return pass_on(std::move(kept), program);
  }
  return connect(path);
}

}  // namespace sidecall::keeper
