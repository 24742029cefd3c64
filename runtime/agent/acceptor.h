// Takes connections of trusted peers from a listening socket.
#pragma once

#include <functional>
#include <string>

#include "agent/event_loop.h"
#include "agent/log.h"
#include "agent/socket.h"

namespace sidecall::agent {

// A peer that is neither root nor the agent's own user is logged and dropped. Where descriptors run
// out, it logs so and tries again a little later instead of spinning.
class Acceptor {
 public:
  // `role` names the socket in the log.
  [[nodiscard]] static Result<std::unique_ptr<Acceptor>> start(EventLoop& loop, const Log& log,
                                                               ListeningSocket socket,
                                                               std::string role,
                                                               std::function<void(Peer)> accepted);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor() = default;

  // While paused, peers wait in the socket's backlog.
  void pause() { watch_.reset(); }
  void resume();

 private:
  Acceptor(EventLoop& loop, const Log& log, ListeningSocket socket, std::string role,
           std::function<void(Peer)> accepted);
  [[nodiscard]] Result<void> watch();
  void accept_one();
  void pause_for_a_moment();

  EventLoop& loop_;
  const Log& log_;
  ListeningSocket socket_;
  std::string role_;
  std::function<void(Peer)> accepted_;
  EventLoop::Handle watch_;
  EventLoop::Handle retry_;
};

}  // namespace sidecall::agent
