#include "keeper/link.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstring>
#include <utility>

#include "base/pass_fd.h"

namespace sidecall::keeper {
namespace {

constexpr int kPatienceMs = 5000;  // far beyond what a keeper that runs at all takes

Result<bool> is_readable_in_time(int socket) {
  pollfd look{socket, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&look, 1, kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return errno_failure("waiting for it");
  return ready > 0;
}

}  // namespace

Result<std::optional<Link>> Link::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return failure(path +
                   ": longer than the 107 bytes that a socket's path can have; choose a "
                   "shorter --run-dir");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  constexpr timeval kPatience{.tv_sec = kPatienceMs / 1000, .tv_usec = 0};
  if (!socket ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience) != 0) {
    return errno_failure("creating a socket");
  }
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    // EPROTOTYPE: a socket of another type, which no keeper has made.
    if (errno == ENOENT || errno == ECONNREFUSED || errno == EPROTOTYPE) return std::nullopt;
    return errno_failure("connecting to " + path);
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return errno_failure("looking at the peer of " + path);
  }
  return Link(std::move(socket), peer.pid);
}

Result<void> Link::send(Packet::Kind kind, const Label& label, int fd) {
  return send_with_fd(socket_.get(), bytes_of(Packet{.kind = kind, .label = label}), fd);
}

Result<void> Link::put(const Label& label, int fd) {
  return send(Packet::Kind::kPut, label, fd);
}

Result<void> Link::drop(const Label& label) {
  return send(Packet::Kind::kDrop, label);
}

Result<void> Link::forget(std::uint64_t sandbox) {
  return send(Packet::Kind::kForget, {.sandbox = sandbox});
}

Result<std::vector<Kept>> Link::fetch() {
  if (auto asked = send(Packet::Kind::kFetch, {}); !asked) return pass_on(std::move(asked));
  std::vector<Kept> items;
  for (;;) {
    const auto readable = is_readable_in_time(socket_.get());
    if (!readable) return tl::unexpected<Error>(readable.error());
    if (!*readable) return failure("it does not answer");
    auto received = receive_with_fds(socket_.get(), sizeof(Packet));
    if (!received) return pass_on(std::move(received));
    if (received->bytes.empty()) return failure("it has hung up");
    auto packet = packet_from(received->bytes);
    if (!packet) return pass_on(std::move(packet));
    if (packet->kind == Packet::Kind::kEnd) return items;
    if (packet->kind != Packet::Kind::kItem || received->fds.size() != 1) {
      return failure("an item without its descriptor: our own may have run out");
    }
    items.push_back({packet->label, std::move(received->fds.front())});
  }
}

}  // namespace sidecall::keeper
