// The sched emulator against real notifications: what root does natively, root of a user namespace
// does under sidecall.
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <thread>

#include "gtest/gtest.h"
#include "kernel/sandbox.h"
#include "support/native_abi.h"

namespace sidecall::testing {
namespace {

struct Attributes {
  std::uint32_t size = 48;
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t times[3] = {};
};

long set_policy(pid_t thread, int policy, int priority) {
  const sched_param parameter{.sched_priority = priority};
  return ::syscall(SYS_sched_setscheduler, thread, policy, &parameter);
}
long set_parameter(pid_t thread, int priority) {
  const sched_param parameter{.sched_priority = priority};
  return ::syscall(SYS_sched_setparam, thread, &parameter);
}
long io_priority(int io_class, int level) {
  return ::syscall(SYS_ioprio_set, 1, 0, io_class << 13 | level);
}

class SchedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const sched_param parameter{.sched_priority = 1};
    const sched_param none{};
    if (::sched_setscheduler(0, SCHED_RR, &parameter) != 0) {
      GTEST_SKIP() << "this host's root has no real-time policies";
    }
    ASSERT_EQ(::sched_setscheduler(0, SCHED_OTHER, &none), 0);
  }
  static std::string served(const Body& body, bool with_pids = false) {
    SandboxOptions options{};
    options.program = emulate("sched",
                              {{"policies", std::vector<std::string>{"fifo", "rr"}},
                               {"max_priority", std::int64_t{10}},
                               {"min_nice", std::int64_t{-5}}},
                              {{support::kNativeAbi, SYS_sched_setscheduler},
                               {support::kNativeAbi, SYS_sched_setparam},
                               {support::kNativeAbi, SYS_sched_setattr},
                               {support::kNativeAbi, SYS_setpriority},
                               {support::kNativeAbi, SYS_ioprio_set}});
    if (with_pids) options.more_namespaces = CLONE_NEWPID;
    return run_in_sandbox(options, body);
  }
  static void both(const Body& body) {
    EXPECT_EQ(run_natively(body), "") << "natively";
    EXPECT_EQ(served(body), "") << "in the sandbox";
    EXPECT_EQ(served(body, true), "") << "in the sandbox, with pids of its own";
  }
};

TEST_F(SchedTest, RaisesTheCaller) {
  both([](Checks& checks) {
    checks.expect_ok(set_policy(0, SCHED_FIFO, 10), "FIFO");
    checks.expect(::sched_getscheduler(0) == SCHED_FIFO, "it is FIFO");
    checks.expect_ok(set_parameter(0, 5), "another priority");
    sched_param parameter{};
    checks.expect_ok(::sched_getparam(0, &parameter), "getparam");
    checks.expect(parameter.sched_priority == 5, "it is 5");
    checks.expect_ok(set_policy(::gettid(), SCHED_RR | SCHED_RESET_ON_FORK, 1), "RR, by number");
    checks.expect(::sched_getscheduler(0) == (SCHED_RR | SCHED_RESET_ON_FORK), "it is RR");
    checks.expect_ok(set_policy(0, SCHED_OTHER, 0), "back");
    Attributes attributes{.policy = SCHED_FIFO, .priority = 3};
    checks.expect_ok(::syscall(SYS_sched_setattr, 0, &attributes, 0), "sched_setattr");
    checks.expect(::sched_getscheduler(0) == SCHED_FIFO, "it is FIFO again");
    attributes = {.policy = SCHED_OTHER, .nice = -5};
    checks.expect_ok(::syscall(SYS_sched_setattr, 0, &attributes, 0), "sched_setattr of nice");
    checks.expect(::getpriority(PRIO_PROCESS, 0) == -5, "nice -5");
    checks.expect_ok(::setpriority(PRIO_PROCESS, 0, 7), "lower");
    checks.expect_ok(::setpriority(PRIO_PROCESS, 0, -2), "and raised again");
    checks.expect(::getpriority(PRIO_PROCESS, 0) == -2, "nice -2");
    checks.expect_ok(io_priority(2, 0), "best effort");
  });
}

TEST_F(SchedTest, RaisesOtherThreadsOfTheSandbox) {
  both([](Checks& checks) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) ::pause();
    }
    checks.expect_ok(set_policy(child, SCHED_RR, 2), "a child");
    checks.expect(::sched_getscheduler(child) == SCHED_RR, "it is RR");
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    checks.expect_errno(set_policy(child, SCHED_RR, 2), ESRCH, "a child that has gone");
    std::thread([&] {
      checks.expect_ok(set_policy(0, SCHED_RR, 2), "a thread that is not the leader");
      checks.expect(::sched_getscheduler(0) == SCHED_RR, "it is RR");
    }).join();
    checks.expect(::sched_getscheduler(0) == SCHED_OTHER, "the leader is not");
  });
}

TEST_F(SchedTest, GivesTheKernelsErrors) {
  both([](Checks& checks) {
    checks.expect_errno(set_policy(-1, SCHED_FIFO, 1), EINVAL, "a negative thread");
    checks.expect_errno(set_policy(0, SCHED_FIFO, 100), EINVAL, "a priority too high");
    checks.expect_errno(set_policy(0, SCHED_FIFO, 0), EINVAL, "a priority too low");
    checks.expect_errno(set_policy(0, SCHED_OTHER, 1), EINVAL, "a priority without a use");
    checks.expect_errno(set_policy(0, 77, 1), EINVAL, "an unknown policy");
    checks.expect_errno(::syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, nullptr), EINVAL, "NULL");
    checks.expect_errno(::syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, 16), EFAULT, "unmapped");
    checks.expect_errno(::syscall(SYS_sched_setattr, 0, 16, 0), EFAULT, "unmapped attributes");
    Attributes attributes{.policy = SCHED_FIFO, .priority = 1};
    checks.expect_errno(::syscall(SYS_sched_setattr, 0, &attributes, 1), EINVAL, "flags");
    attributes.size = 1;
    checks.expect_errno(::syscall(SYS_sched_setattr, 0, &attributes, 0), E2BIG, "a size too small");
    checks.expect(attributes.size >= 48, "the kernel's size is told");
    checks.expect_errno(set_policy(32767, SCHED_FIFO, 1), ESRCH, "no such thread");
    checks.expect_errno(::setpriority(PRIO_PROCESS, 32767, -1), ESRCH, "no such process");
    checks.expect_errno(io_priority(7, 0), EINVAL, "an unknown class");
  });
}

TEST_F(SchedTest, LeavesWhatIsBeyondTheCeilingsToTheKernel) {
  const auto failures = served([](Checks& checks) {
    checks.expect_errno(set_policy(0, SCHED_FIFO, 11), EPERM, "above the ceiling");
    checks.expect_errno(::setpriority(PRIO_PROCESS, 0, -6), EACCES, "below the least nice value");
    checks.expect_errno(io_priority(1, 0), EPERM, "the real-time class");
    checks.expect_ok(set_policy(0, SCHED_FIFO, 10), "the ceiling itself");
    checks.expect_errno(set_parameter(0, 11), EPERM, "beyond it by its parameter");
    checks.expect_errno(set_policy(::getppid(), SCHED_FIFO, 1), EPERM, "a process of the host's");
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> data{};
    checks.expect_ok(::syscall(SYS_capget, &header, data.data()), "capget");
    data[0].effective &= ~(1U << CAP_SYS_NICE);
    checks.expect_ok(::syscall(SYS_capset, &header, data.data()), "capset");
    checks.expect_errno(set_policy(0, SCHED_RR, 10), EPERM, "without CAP_SYS_NICE");
  });
  EXPECT_EQ(failures, "");
}

}  // namespace
}  // namespace sidecall::testing
