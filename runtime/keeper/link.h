// The agent's end of its keeper.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "keeper/protocol.h"
#include "keeper/store.h"

namespace sidecall::keeper {

// A connection. What has been sent over it is kept even where the sender dies in the next moment:
// the keeper reads to the end. No call waits for an answer but fetch(), and none longer than five
// seconds; an error of any means that this keeper is of no use any more.
class Link {
 public:
  // Null where nobody listens at `path`. The error is one of a socket that cannot be used.
  [[nodiscard]] static Result<std::optional<Link>> connect(const std::string& path);

  [[nodiscard]] int fd() const { return socket_.get(); }  // readable: the keeper has gone
  [[nodiscard]] pid_t keeper_pid() const { return keeper_pid_; }

  // `fd` stays the caller's.
  [[nodiscard]] Result<void> put(const Label& label, int fd);
  [[nodiscard]] Result<void> drop(const Label& label);
  [[nodiscard]] Result<void> forget(std::uint64_t sandbox);
  // Everything that is kept.
  [[nodiscard]] Result<std::vector<Kept>> fetch();

 private:
  Link(UniqueFd socket, pid_t keeper_pid) : socket_(std::move(socket)), keeper_pid_(keeper_pid) {}
  [[nodiscard]] Result<void> send(Packet::Kind kind, const Label& label, int fd = -1);

  UniqueFd socket_;
  pid_t keeper_pid_;
};

}  // namespace sidecall::keeper
