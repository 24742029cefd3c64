// The seam to a seccomp-notify listener: seccomp_unotify(2).
#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::kernel {

// SECCOMP_GET_NOTIF_SIZES. A newer kernel's structures may be larger than our headers' and an older
// one's smaller: buffers are the larger of the two.
struct NotificationSizes {
  std::size_t notification = sizeof(seccomp_notif);
  std::size_t response = sizeof(seccomp_notif_resp);
};
[[nodiscard]] Result<NotificationSizes> notification_sizes();

// What RECV gave. `arch` and `nr` together name the call.
struct Notification {
  std::uint64_t id = 0;
  pid_t tid = 0;  // a thread id, in the supervisor's pid namespace; 0 where it is not visible there
  std::uint32_t arch = 0;
  std::int32_t nr = 0;
  std::array<std::uint64_t, 6> args{};
};

// What SEND gives. Either `proceed` (SECCOMP_USER_NOTIF_FLAG_CONTINUE) or an errno or a value.
struct Response {
  std::uint64_t id = 0;
  std::int64_t value = 0;
  int errno_value = 0;  // positive; 0 for success
  bool proceed = false;
};

// Memory that one thread receives into and sends from. Made once, for the kernel's sizes.
class NotificationBuffer {
 public:
  explicit NotificationBuffer(const NotificationSizes& sizes);
  // Receives into `place`, which is somebody else's and outlives this, where that is large enough.
  NotificationBuffer(const NotificationSizes& sizes, std::span<std::byte> place);
  // Zeroed: RECV refuses a buffer that is not (EINVAL).
  [[nodiscard]] std::span<std::byte> notification();
  // What was received last, as the kernel wrote it.
  [[nodiscard]] std::span<const std::byte> received() const { return notification_; }
  // Its call has been answered, or is on record elsewhere: sets its id to 0.
  void forget();
  [[nodiscard]] std::span<std::byte> response() { return response_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::span<std::byte> notification_;
  std::span<std::byte> response_;
};

// The notification that a buffer of RECV holds.
[[nodiscard]] Notification read_notification(std::span<const std::byte> received);

// One listener. Errors are errno values of the ioctl, all of them normal in a life:
//  receive: EINTR (a signal), ENOENT (the target went, or every user of the filter did: hung_up()
//  tells which); reply: ENOENT (the target went or was interrupted), EINPROGRESS (answered
//  already).
// Threads may share a Listener; each brings its own NotificationBuffer.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;

  // Blocks until a call is notified. O_NONBLOCK has no effect on it.
  [[nodiscard]] virtual SysResult<Notification> receive(NotificationBuffer& buffer) = 0;
  [[nodiscard]] virtual SysResult<void> reply(const Response& response,
                                              NotificationBuffer& buffer) = 0;
  // Whether a call waits to be received.
  [[nodiscard]] virtual bool has_pending() = 0;
  // Whether the call `id` still waits for its answer, and hence its tid still names its thread.
  [[nodiscard]] virtual bool is_waiting(std::uint64_t id) = 0;
  // Duplicates `fd` into the waiting target and gives the number it got there. `cloexec` sets
  // O_CLOEXEC on the new descriptor. Answers the call with that number where `answers`; else the
  // answer is still owed.
  [[nodiscard]] virtual SysResult<int> add_fd(std::uint64_t id, int fd, bool cloexec,
                                              bool answers) = 0;
  // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, kernel >= 6.6; EINVAL or ENOTTY before.
  [[nodiscard]] virtual SysResult<void> set_sync_wake_up(bool on) = 0;
  // No task uses the filter any more: nothing will ever be notified again.
  [[nodiscard]] virtual bool hung_up() = 0;
};

// Whether a blocked receive() returns once no task uses the filter any more (Linux 6.11). Where
// not, only poll(2) tells.
[[nodiscard]] bool receive_tells_end();

// The real one. Owns `fd`; an fd that is no seccomp listener is an error.
[[nodiscard]] Result<std::unique_ptr<Listener>> open_listener(UniqueFd fd);

// Whether `fd` is a seccomp listener: ID_VALID on an id that is not in use fails with ENOENT there
// and with something else everywhere else.
[[nodiscard]] bool is_listener(int fd);

// Whether the kernel takes SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP on this listener; leaves it on.
[[nodiscard]] bool enable_sync_wake_up(Listener& listener);

}  // namespace sidecall::kernel
