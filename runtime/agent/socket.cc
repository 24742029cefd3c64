#include "agent/socket.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace sidecall::agent {
namespace {

Result<void> remove_stale(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return errno_failure("looking at " + path);
  }
  if (!S_ISSOCK(status.st_mode)) return failure(path + " is in the way: not a socket; remove it");
  if (::unlink(path.c_str()) != 0) return errno_failure("removing the stale socket " + path);
  return {};
}

}  // namespace

Result<ListeningSocket> ListeningSocket::bind(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return failure("socket " + path + ": longer than the " +
                   std::to_string(sizeof(address.sun_path) - 1) +
                   " bytes of a socket's name; choose a shorter --run-dir");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  if (auto removed = remove_stale(path); !removed) return pass_on(std::move(removed));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_failure("creating a socket");
  // Before bind(2): the name is then made with the socket's own mode (unix_bind_bsd in the kernel's
  // net/unix/af_unix.c), so that there is no moment at which others could connect.
  if (::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) return errno_failure("setting a socket's mode");
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(fd.get(), name, sizeof(address)) != 0) return errno_failure("binding " + path);
  ListeningSocket bound(std::move(fd), path);
  if (::listen(bound.fd(), SOMAXCONN) != 0) return errno_failure("listening on " + path);
  return bound;
}

ListeningSocket::~ListeningSocket() {
  if (fd_ && !path_.empty()) ::unlink(path_.c_str());
}

// The directory is ours alone (its lock), so a socket of that name is the one that was bound to it.
bool leads_to(const std::string& path, int listening) {
  sockaddr_un own{};
  socklen_t size = sizeof own;
  int listens = 0;
  socklen_t listens_size = sizeof listens;
  if (::getsockopt(listening, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0 ||
      listens == 0 || ::getsockname(listening, reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      path != own.sun_path) {
    return false;
  }
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

SysResult<Peer> accept_peer(int listening) {
  Peer peer;
  peer.socket = UniqueFd(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!peer.socket) return sys_failure(errno);
  socklen_t size = sizeof(peer.credentials);
  if (::getsockopt(peer.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer.credentials, &size) != 0) {
    return sys_failure(errno);
  }
  return peer;
}

bool is_trusted(const ucred& credentials) {
  return credentials.uid == 0 || credentials.uid == ::geteuid();
}

}  // namespace sidecall::agent
