// Collects one message per connection: what the peer writes until it is whole, or the peer stops.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/acceptor.h"
#include "agent/event_loop.h"
#include "agent/log.h"
#include "agent/socket.h"

namespace sidecall::agent {

struct IntakeLimits {
  std::size_t bytes = 1U << 20;
  std::size_t descriptors = 1;
  std::size_t connections = 1024;  // unfinished ones at a time; further peers wait in the backlog
  std::chrono::milliseconds patience{5000};  // from the first byte to the last
};

// Whether what came so far is a whole message, so that the peer need not stop writing first.
using IsWhole = std::function<bool(std::string_view bytes)>;

struct Message {
  std::string bytes;
  std::vector<UniqueFd> descriptors;
  Peer peer;  // its socket, for an answer
};

// Where accepted connections are kept for the next agent.
class Shelter {
 public:
  Shelter() = default;
  Shelter(const Shelter&) = delete;
  Shelter& operator=(const Shelter&) = delete;
  virtual ~Shelter() = default;

  virtual void take_in(std::uint64_t number, int connection) = 0;
  virtual void let_go(std::uint64_t number) = 0;
};

// With a shelter, a message is not taken off its connection before it has been delivered: an agent
// that dies with it in hand leaves it to the next.
//
// What is too long, brings too many descriptors or does not end in time is logged and dropped, with
// every descriptor that it brought. A peer may keep silent for as long as it likes: crun connects
// when a container is created, and where that has no_new_privs writes only once it is started. A
// connection that ends without anything in it is normal too, and only a debug line.
class MessageIntake {
 public:
  [[nodiscard]] static Result<std::unique_ptr<MessageIntake>> start(
      EventLoop& loop, const Log& log, ListeningSocket socket, std::string role,
      const IntakeLimits& limits, IsWhole is_whole, std::function<void(Message)> deliver,
      Shelter* shelter = nullptr);
  MessageIntake(const MessageIntake&) = delete;
  MessageIntake& operator=(const MessageIntake&) = delete;
  ~MessageIntake() = default;

  // Goes on with connections that an agent before this one had accepted. Once, before any other.
  void take_over(std::vector<std::pair<std::uint64_t, UniqueFd>> connections);
  // Gives all that it has accepted to the shelter again.
  void shelter_all() const;

 private:
  struct Connection {
    Message message;
    EventLoop::Handle watch;
    EventLoop::Handle deadline;
  };
  using Connections = std::map<std::uint64_t, Connection>;

  MessageIntake(EventLoop& loop, const Log& log, std::string role, const IntakeLimits& limits,
                IsWhole is_whole, std::function<void(Message)> deliver, Shelter* shelter);
  void begin(Peer peer);
  // Whether all of it waits to be read, and so is in `message`.
  [[nodiscard]] bool peek(Message& message) const;
  void read_some(std::uint64_t number);
  void finish(std::uint64_t number);
  void drop(std::uint64_t number, const std::string& cause);
  [[nodiscard]] Message take(std::uint64_t number);

  EventLoop& loop_;
  const Log& log_;
  std::string role_;
  IntakeLimits limits_;
  IsWhole is_whole_;
  std::function<void(Message)> deliver_;
  Shelter* shelter_;  // may be null
  std::unique_ptr<Acceptor> acceptor_;
  std::uint64_t next_number_ = 0;
  Connections connections_;
};

}  // namespace sidecall::agent
