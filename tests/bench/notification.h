// RECV and SEND as bare as they come.
#pragma once

#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace sidecall::bench {

// Room behind, for a kernel whose structures are larger.
struct Received {
  seccomp_notif notification;
  char room[64];
};
struct Answer {
  seccomp_notif_resp response;
  char room[64];
};

// 0, or an errno. Blocks until there is something.
inline int receive(int listener, Received& got) {
  std::memset(&got, 0, sizeof got);
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &got) == 0 ? 0 : errno;
}

inline void answer(int listener, std::uint64_t id, long value) {
  Answer answer{};
  answer.response.id = id;
  answer.response.val = value;
  ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

// Whether a notification waits to be received.
inline bool is_pending(int listener) {
  pollfd look{.fd = listener, .events = POLLIN, .revents = 0};
  return ::poll(&look, 1, 0) == 1 && (look.revents & POLLIN) != 0;
}

}  // namespace sidecall::bench
