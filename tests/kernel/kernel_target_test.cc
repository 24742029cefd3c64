// A KernelTarget that meets what another thread has left in its cache.
#include "kernel/kernel_target.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "kernel/trial.h"

namespace sidecall::kernel {
namespace {

ThreadDirectory directory_of_the_dead(int proc) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  auto directory = ThreadDirectory::open(proc, child);
  EXPECT_TRUE(directory && directory->credentials());
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  return std::move(*directory);
}

class KernelTargetTest : public testing::Test {
 protected:
  void SetUp() override {
    auto trial = Trial::start(SYS_getppid, [] { return static_cast<int>(::syscall(SYS_getppid)); });
    ASSERT_TRUE(trial) << trial.error().message;
    trial_.emplace(std::move(*trial));
    auto listener = open_listener(trial_->take_listener());
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = std::move(*listener);
    buffer_.emplace(*notification_sizes());
    const auto got = listener_->receive(*buffer_);
    ASSERT_TRUE(got);
    call_ = *got;
    auto namespaces = sandbox_namespaces(proc_.get(), trial_->pid());
    ASSERT_TRUE(namespaces);
    namespaces_ = std::move(*namespaces);
  }

  const UniqueFd proc_{::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  std::optional<Trial> trial_;
  std::unique_ptr<Listener> listener_;
  std::optional<NotificationBuffer> buffer_;
  Notification call_;
  SandboxNamespaces namespaces_;
  ThreadCache threads_;
};

TEST_F(KernelTargetTest, ADirectoryOfADeadThreadOfTheSameNumberIsNotTheCallers) {
  threads_.keep(call_.tid, directory_of_the_dead(proc_.get()));
  {
    KernelTarget target(*listener_, namespaces_, threads_, call_.id, call_.tid);
    EXPECT_TRUE(target.working_directory());
    EXPECT_TRUE(target.credentials());
  }
  KernelTarget again(*listener_, namespaces_, threads_, call_.id, call_.tid);
  EXPECT_TRUE(again.in_sandbox_user_namespace().value_or(false)) << "by the one that is kept now";
}

TEST_F(KernelTargetTest, NothingIsSeenOfACallerThatHasGone) {
  KernelTarget target(*listener_, namespaces_, threads_, call_.id, call_.tid);
  ASSERT_TRUE(target.credentials());
  trial_->kill();
  static_cast<void>(trial_->wait());
  EXPECT_EQ(target.credentials().error().value, ESRCH);
  EXPECT_EQ(target.root().error().value, ESRCH);
  EXPECT_EQ(target.descriptor(0).error().value, ESRCH);
}

}  // namespace
}  // namespace sidecall::kernel
