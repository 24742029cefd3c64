#include "kernel/listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

// Newer than the headers of the oldest distribution that we build on; include/uapi/linux/seccomp.h.
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

namespace sidecall::kernel {
namespace {

class KernelListener final : public Listener {
 public:
  explicit KernelListener(UniqueFd fd) : fd_(std::move(fd)) {}

  SysResult<Notification> receive(NotificationBuffer& buffer) override {
    const auto memory = buffer.notification();
    if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_RECV, memory.data()) != 0) return sys_failure(errno);
    return read_notification(memory);
  }

  SysResult<void> reply(const Response& response, NotificationBuffer& buffer) override {
    // The kernel reads its own size of the structure: what is past our header's stays zero.
    const seccomp_notif_resp answer{
        .id = response.id,
        .val = response.value,
        .error = -response.errno_value,
        .flags = response.proceed ? __u32{SECCOMP_USER_NOTIF_FLAG_CONTINUE} : 0};
    std::memcpy(buffer.response().data(), &answer, sizeof answer);
    if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_SEND, buffer.response().data()) != 0) {
      return sys_failure(errno);
    }
    return {};
  }

  bool has_pending() override {
    pollfd look{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&look, 1, 0) == 1 && (look.revents & POLLIN) != 0;
  }

  bool is_waiting(std::uint64_t id) override {
    return ::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
  }

  SysResult<int> add_fd(std::uint64_t id, int fd, bool cloexec, bool answers) override {
    seccomp_notif_addfd request{};
    if (answers) request.flags = SECCOMP_ADDFD_FLAG_SEND;
    request.id = id;
    request.srcfd = static_cast<__u32>(fd);
    request.newfd_flags = cloexec ? O_CLOEXEC : 0;
    const int number = ::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_ADDFD, &request);
    if (number < 0) return sys_failure(errno);
    return number;
  }

  SysResult<void> set_sync_wake_up(bool on) override {
    // The flags are the argument itself, not a pointer to them.
    const unsigned long flags = on ? SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP : 0;
    if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags) != 0) return sys_failure(errno);
    return {};
  }

  bool hung_up() override {
    pollfd look{.fd = fd_.get(), .events = 0, .revents = 0};
    return ::poll(&look, 1, 0) == 1 && (look.revents & POLLHUP) != 0;
  }

 private:
  UniqueFd fd_;
};

}  // namespace

Result<NotificationSizes> notification_sizes() {
  seccomp_notif_sizes kernel{};
  if (::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &kernel) != 0) {
    return errno_failure("asking the kernel for the sizes of seccomp notifications");
  }
  return NotificationSizes{
      .notification = std::max<std::size_t>(kernel.seccomp_notif, sizeof(seccomp_notif)),
      .response = std::max<std::size_t>(kernel.seccomp_notif_resp, sizeof(seccomp_notif_resp))};
}

Notification read_notification(std::span<const std::byte> received) {
  seccomp_notif got;
  std::memcpy(&got, received.data(), sizeof got);
  Notification notification{.id = got.id,
                            .tid = static_cast<pid_t>(got.pid),
                            .arch = got.data.arch,
                            .nr = got.data.nr,
                            .args = {}};
  std::copy(std::begin(got.data.args), std::end(got.data.args), notification.args.begin());
  return notification;
}

NotificationBuffer::NotificationBuffer(const NotificationSizes& sizes, std::span<std::byte> place)
    : NotificationBuffer(sizes) {
  if (place.size() >= sizes.notification) notification_ = place.first(sizes.notification);
}

void NotificationBuffer::forget() {
  constexpr std::size_t kIdBytes = sizeof(seccomp_notif::id);
  std::fill_n(notification_.begin(), kIdBytes, std::byte{0});
}

NotificationBuffer::NotificationBuffer(const NotificationSizes& sizes)
    : memory_(std::make_unique<std::byte[]>(sizes.notification + sizes.response)),
      notification_(memory_.get(), sizes.notification),
      response_(memory_.get() + sizes.notification, sizes.response) {}

std::span<std::byte> NotificationBuffer::notification() {
  std::fill(notification_.begin(), notification_.end(), std::byte{0});
  return notification_;
}

bool is_listener(int fd) {
  std::uint64_t id = 0;  // the kernel's ids are random 64-bit numbers that count up
  return ::ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) != 0 && errno == ENOENT;
}

bool receive_tells_end() {
  utsname names{};
  if (::uname(&names) != 0) return false;
  const std::string_view release(names.release);  // "6.18.3-amd64"
  const char* const end = release.data() + release.size();
  unsigned major = 0;
  unsigned minor = 0;
  const auto dot = std::from_chars(release.data(), end, major).ptr;
  if (dot == end || *dot != '.') return false;
  std::from_chars(dot + 1, end, minor);
  return major > 6 || (major == 6 && minor >= 11);
}

Result<std::unique_ptr<Listener>> open_listener(UniqueFd fd) {
  if (!is_listener(fd.get())) return failure("the descriptor is not a seccomp listener");
  return std::make_unique<KernelListener>(std::move(fd));
}

bool enable_sync_wake_up(Listener& listener) {
  return listener.set_sync_wake_up(true).has_value();
}

}  // namespace sidecall::kernel
