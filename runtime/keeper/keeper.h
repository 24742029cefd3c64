// The process that holds descriptors while agents come and go.
#pragma once

#include <chrono>

#include "base/result.h"
#include "base/unique_fd.h"
#include "keeper/protocol.h"
#include "keeper/store.h"

namespace sidecall::keeper {

struct KeeperTimes {
  std::chrono::milliseconds look{500};       // while no agent is there: between looks at listeners
  std::chrono::milliseconds linger{30'000};  // without an agent and without sandboxes
};

// One thread, and nothing that it acts upon: it does not read a notification or start a worker.
// Serves one agent at a time, so that all that a dead one has sent is done before the next is
// heard. While there is none, it lets go of sandboxes that have ended: their workers see their
// control sockets close, and end as well.
class Keeper {
 public:
  // `listening` is a SOCK_SEQPACKET socket.
  Keeper(UniqueFd listening, KeeperTimes times) : listening_(std::move(listening)), times_(times) {}

  // Returns when it has had no agent and no sandbox for a while: longer than anything waits for an
  // agent to come back.
  [[nodiscard]] Result<void> run();

  [[nodiscard]] const Store& store() const { return store_; }

 private:
  void accept_agent();
  void serve_agent();
  [[nodiscard]] bool obey(const Packet& packet, UniqueFd fd);
  [[nodiscard]] bool send_all() const;

  UniqueFd listening_;
  KeeperTimes times_;
  UniqueFd agent_;
  Store store_;
};

}  // namespace sidecall::keeper
