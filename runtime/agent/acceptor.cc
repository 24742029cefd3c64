#include "agent/acceptor.h"

#include <utility>

namespace sidecall::agent {
namespace {

constexpr std::chrono::milliseconds kRetryDelay{100};

// What says something about one connection, and not about us: accept(2) hands such errors on.
bool is_passing(int number) {
  return number == EAGAIN || number == EINTR || number == ECONNABORTED || number == EPERM;
}

}  // namespace

Acceptor::Acceptor(EventLoop& loop, const Log& log, ListeningSocket socket, std::string role,
                   std::function<void(Peer)> accepted)
    : loop_(loop),
      log_(log),
      socket_(std::move(socket)),
      role_(std::move(role)),
      accepted_(std::move(accepted)) {}

Result<std::unique_ptr<Acceptor>> Acceptor::start(EventLoop& loop, const Log& log,
                                                  ListeningSocket socket, std::string role,
                                                  std::function<void(Peer)> accepted) {
  std::unique_ptr<Acceptor> acceptor(
      new Acceptor(loop, log, std::move(socket), std::move(role), std::move(accepted)));
  if (auto watched = acceptor->watch(); !watched) return pass_on(std::move(watched));
  return acceptor;
}

Result<void> Acceptor::watch() {
  auto handle = loop_.watch(socket_.fd(), [this] { accept_one(); });
  if (!handle) return pass_on(std::move(handle), role_ + " socket");
  watch_ = std::move(*handle);
  return {};
}

void Acceptor::resume() {
  retry_.reset();
  if (auto watched = watch(); !watched) pause_for_a_moment();
}

void Acceptor::pause_for_a_moment() {
  pause();
  retry_ = loop_.after(kRetryDelay, [this] { resume(); });
}

void Acceptor::accept_one() {
  auto peer = accept_peer(socket_.fd());
  if (!peer) {
    if (is_passing(peer.error().value)) return;
    log_.error("cannot accept connections, trying again",
               {{"socket", role_}, {"cause", errno_name(peer.error().value)}});
    pause_for_a_moment();
    return;
  }
  if (!is_trusted(peer->credentials)) {
    log_.warn("connection dropped: neither root nor the agent's own user",
              {{"socket", role_},
               {"peer_uid", std::to_string(peer->credentials.uid)},
               {"peer_pid", std::to_string(peer->credentials.pid)}});
    return;
  }
  accepted_(std::move(*peer));
}

}  // namespace sidecall::agent
