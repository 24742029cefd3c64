// Collects one message per connection: everything that the peer writes until it stops writing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/acceptor.h"
#include "agent/event_loop.h"
#include "agent/log.h"
#include "agent/socket.h"

namespace sidecall::agent {

struct IntakeLimits {
  std::size_t bytes = 1U << 20;
  std::size_t descriptors = 1;
  std::size_t connections = 256;  // unfinished ones at a time; further peers wait in the backlog
  std::chrono::milliseconds patience{5000};  // from accepting to the end of the message
};

struct Message {
  std::string bytes;
  std::vector<UniqueFd> descriptors;
  Peer peer;  // its socket, for an answer
};

// What is too long, brings too many descriptors or does not end in time is logged and dropped, with
// every descriptor that it brought. A connection without anything in it is normal (engines probe
// sockets that way) and only a debug line.
class MessageIntake {
 public:
  [[nodiscard]] static Result<std::unique_ptr<MessageIntake>> start(
      EventLoop& loop, const Log& log, ListeningSocket socket, std::string role,
      const IntakeLimits& limits, std::function<void(Message)> deliver);
  MessageIntake(const MessageIntake&) = delete;
  MessageIntake& operator=(const MessageIntake&) = delete;
  ~MessageIntake() = default;

 private:
  struct Connection {
    Message message;
    EventLoop::Handle watch;
    EventLoop::Handle deadline;
  };
  using Connections = std::map<std::uint64_t, Connection>;

  MessageIntake(EventLoop& loop, const Log& log, std::string role, const IntakeLimits& limits,
                std::function<void(Message)> deliver);
  void begin(Peer peer);
  void read_some(std::uint64_t number);
  void finish(std::uint64_t number);
  void drop(std::uint64_t number, const std::string& cause);
  [[nodiscard]] Message take(std::uint64_t number);

  EventLoop& loop_;
  const Log& log_;
  std::string role_;
  IntakeLimits limits_;
  std::function<void(Message)> deliver_;
  std::unique_ptr<Acceptor> acceptor_;
  std::uint64_t next_number_ = 0;
  Connections connections_;
};

}  // namespace sidecall::agent
