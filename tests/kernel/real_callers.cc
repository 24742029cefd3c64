#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/unique_fd.h"
#include "kernel/callers.h"
#include "kernel/trial.h"

namespace sidecall::kernel_tests {
namespace {

struct Command {
  enum class Kind : std::uint8_t { kCall, kReadByte, kDescriptorFlags };
  Kind kind = Kind::kCall;
  int fd = -1;
  Args args{};
};

struct Link {
  UniqueFd ours;
  UniqueFd theirs;
};
using Links = std::array<Link, Callers::kCount>;

Returned obey(const Command& command) {
  long value = -1;
  errno = 0;
  switch (command.kind) {
    case Command::Kind::kCall: {
      const Args& args = command.args;
      value = ::syscall(SYS_getppid, args[0], args[1], args[2], args[3], args[4], args[5]);
      break;
    }
    case Command::Kind::kReadByte: {
      unsigned char byte = 0;
      if (::read(command.fd, &byte, 1) == 1) value = byte;
      break;
    }
    case Command::Kind::kDescriptorFlags:
      value = ::fcntl(command.fd, F_GETFD);
      break;
  }
  return {.value = value, .error = errno};
}

// Says its process id, then obeys until the test closes its end.
int caller_main(int link) {
  const Returned hello{.value = ::getpid()};
  if (::write(link, &hello, sizeof hello) < 0) return 1;
  Command command;
  while (::read(link, &command, sizeof command) == sizeof command) {
    const Returned returned = obey(command);
    if (::write(link, &returned, sizeof returned) < 0) return 1;
  }
  return 0;
}

// In the trial's process: its filter is inherited by each caller.
int start_callers(Links& links) {
  for (Link& link : links) link.ours.reset();
  for (const Link& link : links) {
    const pid_t pid = ::fork();
    if (pid < 0) return 1;
    if (pid == 0) ::_exit(caller_main(link.theirs.get()));
  }
  for (Link& link : links) link.theirs.reset();
  while (::wait(nullptr) > 0) {
  }
  return 0;
}

class RealCallers final : public Callers {
 public:
  RealCallers(Links links, kernel::Trial trial, std::unique_ptr<kernel::Listener> listener)
      : trial_(std::move(trial)), links_(std::move(links)), listener_(std::move(listener)) {
    for (std::size_t caller = 0; caller < kCount; ++caller) {
      pids_[caller] = static_cast<pid_t>(report(caller).value);
    }
  }

  kernel::Listener& listener() override { return *listener_; }
  void make_call(int caller, const Args& args) override {
    order(index(caller), {.kind = Command::Kind::kCall, .args = args});
  }
  Returned wait_for_return(int caller) override { return report(index(caller)); }
  Returned read_byte(int caller, int fd) override {
    order(index(caller), {.kind = Command::Kind::kReadByte, .fd = fd});
    return report(index(caller));
  }
  Returned descriptor_flags(int caller, int fd) override {
    order(index(caller), {.kind = Command::Kind::kDescriptorFlags, .fd = fd});
    return report(index(caller));
  }
  pid_t tid(int caller) const override { return pids_[index(caller)]; }
  std::int64_t native_value(int) const override { return trial_.pid(); }

  void kill(int caller) override {
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, tid(caller), 0)));
    ASSERT_TRUE(pidfd);
    ::kill(tid(caller), SIGKILL);
    pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&ended, 1, -1), 1);
  }

  void finish() override {
    for (Link& link : links_) link.ours.reset();
    EXPECT_EQ(trial_.wait(), 0);
  }

  void interrupt(std::thread& receiver) override {
    ::pthread_kill(receiver.native_handle(), SIGUSR1);
  }

 private:
  static std::size_t index(int caller) { return static_cast<std::size_t>(caller); }
  void order(std::size_t caller, const Command& command) {
    ASSERT_EQ(::write(links_[caller].ours.get(), &command, sizeof command),
              static_cast<ssize_t>(sizeof command));
  }
  Returned report(std::size_t caller) {
    Returned returned;
    EXPECT_EQ(::read(links_[caller].ours.get(), &returned, sizeof returned),
              static_cast<ssize_t>(sizeof returned));
    return returned;
  }

  // Gone in reverse: a caller that still waits gets ENOSYS, then finds its link closed and exits.
  kernel::Trial trial_;
  Links links_;
  std::unique_ptr<kernel::Listener> listener_;
  std::array<pid_t, kCount> pids_{};
};

}  // namespace

std::unique_ptr<Callers> real_callers() {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // without SA_RESTART: only to end a blocked RECV
  ::sigaction(SIGUSR1, &action, nullptr);
  Links links;
  for (Link& link : links) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return nullptr;
    link = {.ours = UniqueFd(ends[0]), .theirs = UniqueFd(ends[1])};
  }
  auto trial = kernel::Trial::start(SYS_getppid, [&links] { return start_callers(links); });
  if (!trial) {
    ADD_FAILURE() << trial.error().message;
    return nullptr;
  }
  for (Link& link : links) link.theirs.reset();
  auto listener = kernel::open_listener(trial->take_listener());
  if (!listener) {
    ADD_FAILURE() << listener.error().message;
    return nullptr;
  }
  return std::make_unique<RealCallers>(std::move(links), std::move(*trial), std::move(*listener));
}

}  // namespace sidecall::kernel_tests
