#include "unit/agent/support.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>

#include "base/file.h"
#include "base/paths.h"
#include "keeper/link.h"

namespace sidecall::agent {
namespace {

int install_listener() {
  std::array<sock_filter, 4> filter{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_swapoff},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

}  // namespace

TemporaryDirectory::TemporaryDirectory()
    : path_((std::filesystem::temp_directory_path() / "agent_test.XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) std::abort();
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string TemporaryDirectory::operator/(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

CapturedLog::CapturedLog(LogFormat format, LogLevel least)
    : stream_(std::make_shared<std::ostringstream>()),
      log_(format, least, std::make_shared<spdlog::sinks::ostream_sink_mt>(*stream_)) {}

TestLoop::TestLoop() : loop_(std::move(*EventLoop::create())) {}

bool TestLoop::run_until(const std::function<bool()>& holds) {
  using std::chrono::milliseconds;
  bool held = false;
  EventLoop::Handle tick;
  const std::function<void()> look = [&] {
    held = holds();
    if (held) return loop_->stop();
    tick = loop_->after(milliseconds{1}, look);
  };
  tick = loop_->after(milliseconds{0}, look);
  const auto limit = loop_->after(milliseconds{20'000}, [&] { loop_->stop(); });
  EXPECT_TRUE(loop_->run());
  return held;
}

void TestLoop::settle() {
  int rounds = 0;
  EXPECT_TRUE(run_until([&] { return ++rounds == 5; }));
}

RealListener::RealListener() : release_(::eventfd(0, EFD_CLOEXEC)) {
  std::promise<int> installed;
  auto fd = installed.get_future();
  thread_ = std::thread([&installed, release = release_.get()] {
    installed.set_value(install_listener());
    std::uint64_t ignored = 0;
    static_cast<void>(::read(release, &ignored, sizeof ignored) < 0);
  });
  fd_ = UniqueFd(fd.get());
  if (!fd_) ADD_FAILURE() << "no seccomp listener here";
}

RealListener::~RealListener() {
  ::eventfd_write(release_.get(), 1);
  thread_.join();
}

Pipe::Pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  read = UniqueFd(ends[0]);
  write = UniqueFd(ends[1]);
}

bool Pipe::reader_gone() const {
  pollfd look{write.get(), POLLOUT, 0};
  return ::poll(&look, 1, 0) == 1 && (look.revents & POLLERR) != 0;
}

UniqueFd connect_to(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  EXPECT_EQ(::connect(socket.get(), name, sizeof address), 0) << path;
  return socket;
}

void send_bytes(const UniqueFd& socket, std::string_view bytes, const std::vector<int>& fds) {
  std::string copy(bytes);
  iovec piece{copy.data(), copy.size()};
  std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  ASSERT_EQ(::sendmsg(socket.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

void finish_sending(const UniqueFd& socket) {
  ::shutdown(socket.get(), SHUT_WR);
}

std::string read_all(const UniqueFd& socket) {
  return read_fd(socket.get(), 1U << 16).value_or("");
}

bool peer_closed(const UniqueFd& socket) {
  pollfd look{socket.get(), POLLIN, 0};
  return ::poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

void end_keeper(const std::string& run_directory) {
  const auto link = keeper::Link::connect(in_directory(run_directory, kKeeperSocket));
  if (link && *link && (*link)->keeper_pid() != ::getpid()) ::kill((*link)->keeper_pid(), SIGKILL);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator first("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(first), end(first)));
}

}  // namespace sidecall::agent
