#include "keeper/keeper.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "base/pass_fd.h"

namespace sidecall::keeper {
namespace {

using Clock = std::chrono::steady_clock;

bool is_trusted(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == 0 || peer.uid == ::geteuid());
}

bool send(int agent, const Packet& packet, int fd = -1) {
  return send_with_fd(agent, bytes_of(packet), fd).has_value();
}

}  // namespace

Result<void> Keeper::run() {
  auto busy = Clock::now();
  for (;;) {
    const bool alone = !agent_;
    if (alone) {
      store_.forget_deserted();
      if (store_.has_sandboxes()) busy = Clock::now();
      if (Clock::now() - busy >= times_.linger) return {};
    }
    pollfd look{alone ? listening_.get() : agent_.get(), POLLIN, 0};
    const int ready = ::poll(&look, 1, alone ? static_cast<int>(times_.look.count()) : -1);
    if (ready < 0 && errno != EINTR) return errno_failure("waiting for an agent");
    if (ready <= 0) continue;
    if (alone) {
      accept_agent();
    } else {
      serve_agent();
    }
    busy = Clock::now();
  }
}

void Keeper::accept_agent() {
  UniqueFd connection(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) {
    // It may be for want of descriptors: the agent waits, and we do not spin.
    std::this_thread::sleep_for(times_.look);
  } else if (is_trusted(connection.get())) {
    agent_ = std::move(connection);
  }
}

void Keeper::serve_agent() {
  auto received = receive_with_fds(agent_.get(), sizeof(Packet));
  if (!received || received->bytes.empty()) return agent_.reset();
  const auto packet = packet_from(received->bytes);
  UniqueFd fd = received->fds.empty() ? UniqueFd() : std::move(received->fds.front());
  if (!packet) {
    // Of another release: it learns ours from the answer, and nothing is guessed.
    static_cast<void>(send(agent_.get(), {.kind = Packet::Kind::kEnd}));
    return agent_.reset();
  }
  if (!obey(*packet, std::move(fd))) agent_.reset();
}

bool Keeper::obey(const Packet& packet, UniqueFd fd) {
  switch (packet.kind) {
    case Packet::Kind::kPut:
      // Without one it has been lost on the way (we are out of descriptors): the agent sees us
      // hang up, and starts another keeper.
      if (!fd) return false;
      store_.put(packet.label, std::move(fd));
      return true;
    case Packet::Kind::kDrop:
      store_.drop(packet.label);
      return true;
    case Packet::Kind::kForget:
      store_.forget(packet.label.sandbox);
      return true;
    case Packet::Kind::kFetch:
      return send_all();
    case Packet::Kind::kItem:
    case Packet::Kind::kEnd:
      break;
  }
  return false;
}

bool Keeper::send_all() const {
  for (const Kept& kept : store_.items()) {
    const Packet packet{.kind = Packet::Kind::kItem, .label = kept.label};
    if (!send(agent_.get(), packet, kept.fd.get())) return false;
  }
  return send(agent_.get(), {.kind = Packet::Kind::kEnd});
}

}  // namespace sidecall::keeper
