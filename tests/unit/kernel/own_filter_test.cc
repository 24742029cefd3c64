#include "kernel/own_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

namespace sidecall::kernel {
namespace {

// How a child process ends that has filtered its calls and then acts: act()'s value, as an exit
// status, or minus the signal that killed it.
int ending_of(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool filtered = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter_own_calls();
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

}  // namespace
}  // namespace sidecall::kernel
