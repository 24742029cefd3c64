// Unix stream sockets: listening, and accepting a known peer.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::agent {

// A listening socket and its name in the file system, which goes with it.
class ListeningSocket {
 public:
  // Mode 0600 from the first moment on. A socket of that name is replaced: the caller holds the
  // lock that makes it a stale one. Anything else of that name is an error.
  [[nodiscard]] static Result<ListeningSocket> bind(const std::string& path);
  // One that listens already.
  ListeningSocket(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  ListeningSocket(ListeningSocket&&) noexcept = default;
  ListeningSocket& operator=(ListeningSocket&&) = delete;
  ~ListeningSocket();

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Its name stays when this goes: somebody else has the socket as well.
  void leave_name() { path_.clear(); }

 private:
  UniqueFd fd_;
  std::string path_;  // empty: not ours to remove
};

// Whether a connection to `path` comes to this listening socket.
[[nodiscard]] bool leads_to(const std::string& path, int listening);

// An accepted connection, non-blocking, and who is at its other end (SO_PEERCRED).
struct Peer {
  UniqueFd socket;
  ucred credentials{};
};

// EAGAIN where nobody waits; every other errno of accept4(2) and getsockopt(2).
[[nodiscard]] SysResult<Peer> accept_peer(int listening);

// Root and the agent's own user may ask something of it.
[[nodiscard]] bool is_trusted(const ucred& credentials);

}  // namespace sidecall::agent
