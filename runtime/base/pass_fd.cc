#include "base/pass_fd.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace sidecall {

Result<void> send_with_fd(int socket, std::string_view bytes, int fd) {
  return send_with_fds(socket, bytes, fd >= 0 ? std::span(&fd, 1) : std::span<const int>());
}

Result<void> send_with_fds(int socket, std::string_view bytes, std::span<const int> fds) {
  if (fds.size() > kMostFdsReceived) return failure("too many descriptors for a message");
  iovec part{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};  // NOLINT
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFdsReceived * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return errno_failure("sending a message");
  if (static_cast<std::size_t>(sent) != bytes.size()) return failure("a message was sent in part");
  return {};
}

namespace {

SysResult<Received> receive(int socket, std::size_t limit, int flags) {
  Received received;
  // Not filled: most messages are a thousandth of what there is room for.
  std::array<char, kMostBytesReceived> room;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  iovec part{.iov_base = room.data(), .iov_len = std::min(limit, room.size())};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFdsReceived * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = 0;
  do {
    count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return sys_failure(errno);
  received.bytes.assign(room.data(), static_cast<std::size_t>(count));
  received.fds_cut = (message.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t bytes = header->cmsg_len - CMSG_LEN(0);
    for (std::size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
      received.fds.emplace_back(fd);
    }
  }
  return received;
}

}  // namespace

SysResult<Received> try_receive_with_fds(int socket, std::size_t limit) {
  return receive(socket, limit, 0);
}

SysResult<Received> peek_with_fds(int socket, std::size_t limit) {
  return receive(socket, limit, MSG_PEEK);
}

Result<Received> receive_with_fds(int socket, std::size_t limit) {
  auto received = try_receive_with_fds(socket, limit);
  if (!received) return errno_failure("receiving a message", received.error().value);
  return std::move(*received);
}

}  // namespace sidecall
