// Messages with descriptors over Unix sockets: SCM_RIGHTS of unix(7).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall {

struct Received {
  std::string bytes;          // empty: the peer has closed
  std::vector<UniqueFd> fds;  // O_CLOEXEC, ours to close
  bool fds_cut = false;       // there were more of them than we take (MSG_CTRUNC)
};

inline constexpr std::size_t kMostFdsReceived = 4;
inline constexpr std::size_t kMostBytesReceived = std::size_t{128} << 10U;

// One message, with `fd` unless that is negative. `fd` stays the caller's. Never raises SIGPIPE.
[[nodiscard]] Result<void> send_with_fd(int socket, std::string_view bytes, int fd);

// The same with up to kMostFdsReceived descriptors.
[[nodiscard]] Result<void> send_with_fds(int socket, std::string_view bytes,
                                         std::span<const int> fds);

// One recvmsg(2) of at most `limit` bytes, or kMostBytesReceived. EAGAIN on a non-blocking socket
// comes as its errno.
[[nodiscard]] SysResult<Received> try_receive_with_fds(int socket, std::size_t limit);
// The same, and leaves it all to be received again: the descriptors are duplicates. It ends with
// the part that brought descriptors, so that a long message may come in part.
[[nodiscard]] SysResult<Received> peek_with_fds(int socket, std::size_t limit);
// try_receive_with_fds() for a blocking socket.
[[nodiscard]] Result<Received> receive_with_fds(int socket, std::size_t limit);

}  // namespace sidecall
