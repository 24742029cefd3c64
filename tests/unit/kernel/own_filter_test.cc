#include "kernel/own_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include "base/pass_fd.h"
#include "base/unique_fd.h"

namespace sidecall::kernel {
namespace {

// How a child process ends that has filtered its calls and then acts: act()'s value, as an exit
// status, or minus the signal that killed it.
int ending_of(const std::function<int()>& act, Duty duty = Duty::kServing) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool filtered = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter_own_calls(duty);
    ::_exit(filtered ? act() : 125);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int errno_of(long result) {
  return result < 0 ? errno : 0;
}

// Under a sanitizer there is no filter, whose own calls are not known.
class OwnFilter : public testing::Test {
 protected:
  void SetUp() override {
    if (ending_of([] { return errno_of(::fork()); }) == 0) {
      GTEST_SKIP() << "built with a sanitizer: no filter";
    }
  }
};

TEST_F(OwnFilter, LeavesThreadsMemoryAndDescriptors) {
  EXPECT_EQ(ending_of([] {
              int value = 0;
              std::thread([&] {
                const std::string text(1U << 22U, 'x');  // more than a heap has at hand
                value = static_cast<int>(text.size() >> 22U);
              }).join();
              return value;
            }),
            1);
  EXPECT_EQ(ending_of([] { return errno_of(::open("/", O_PATH | O_DIRECTORY)); }), 0);
}

TEST_F(OwnFilter, TakesAwayProcessesAndSockets) {
  EXPECT_EQ(ending_of([] { return errno_of(::fork()); }), ENOSYS);
  EXPECT_EQ(ending_of([] { return errno_of(::vfork()); }), ENOSYS);
  EXPECT_EQ(ending_of([] { return errno_of(::socket(AF_INET, SOCK_STREAM, 0)); }), ENOSYS);
  EXPECT_EQ(ending_of([] { return errno_of(::kill(::getpid(), 0)); }), ENOSYS);
  EXPECT_EQ(ending_of([] { return errno_of(::syscall(SYS_clone, CLONE_NEWUSER, 0, 0, 0, 0)); }),
            ENOSYS);
}

TEST_F(OwnFilter, KillsWhomSomebodyElseHasTakenOver) {
  EXPECT_EQ(ending_of([] { return errno_of(::execl("/bin/true", "true", nullptr)); }), -SIGSYS);
  EXPECT_EQ(ending_of([] { return errno_of(::syscall(SYS_ptrace, 0, 0, 0, 0)); }), -SIGSYS);
}

TEST_F(OwnFilter, StaysForThreadsThatStartLater) {
  EXPECT_EQ(ending_of([] {
              int number = 0;
              std::thread([&] { number = errno_of(::fork()); }).join();
              return number;
            }),
            ENOSYS);
}

int holder(const std::function<int()>& act) {
  return ending_of(act, Duty::kHolding);
}

TEST_F(OwnFilter, AHolderPassesDescriptors) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  EXPECT_EQ(holder([&] { return send_with_fd(theirs.get(), "x", theirs.get()) ? 0 : errno; }), 0);
  const auto received = receive_with_fds(ours.get(), 1);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->fds.size(), 1U);
}

TEST_F(OwnFilter, AHolderHasNoFilesThreadsOrSocketsOfItsOwn) {
  EXPECT_EQ(holder([] { return errno_of(::open("/", O_PATH | O_DIRECTORY)); }), ENOSYS);
  EXPECT_EQ(holder([] { return errno_of(::socket(AF_UNIX, SOCK_STREAM, 0)); }), ENOSYS);
  EXPECT_EQ(holder([] { return errno_of(::ioctl(0, FIONREAD)); }), ENOSYS);
  EXPECT_EQ(holder([] { return errno_of(::fork()); }), ENOSYS);
  EXPECT_EQ(holder([] { return errno_of(::syscall(SYS_clone, CLONE_THREAD | CLONE_VM)); }), ENOSYS);
  EXPECT_EQ(holder([] { return errno_of(::execl("/bin/true", "true", nullptr)); }), -SIGSYS);
}

}  // namespace
}  // namespace sidecall::kernel
