// The reboot emulator, mode "stop", against real notifications. Its other modes are in
// pretending_test.cc. Bodies run as root of a user namespace alone, which cannot stop the machine.
#include <linux/capability.h>
#include <linux/reboot.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "gtest/gtest.h"
#include "kernel/forked.h"
#include "kernel/sandbox.h"
#include "support/native_abi.h"

namespace sidecall::testing {
namespace {

constexpr std::array<unsigned, 4> kEnding = {LINUX_REBOOT_CMD_RESTART, LINUX_REBOOT_CMD_RESTART2,
                                             LINUX_REBOOT_CMD_HALT, LINUX_REBOOT_CMD_POWER_OFF};
constexpr std::array<unsigned, 4> kOthers = {LINUX_REBOOT_CMD_CAD_ON, LINUX_REBOOT_CMD_CAD_OFF,
                                             LINUX_REBOOT_CMD_KEXEC, LINUX_REBOOT_CMD_SW_SUSPEND};

constexpr const char* kEnded = "the other end has gone\n";

class RebootStop : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
  static std::string in_sandbox(const Body& body, bool served = true) {
    const SandboxOptions options{.program = emulate("reboot", {{"mode", std::string("stop")}},
                                                    {{support::kNativeAbi, SYS_reboot}}),
                                 .more_namespaces = CLONE_NEWPID,
                                 .served = served,
                                 .install_filter = {},
                                 .meanwhile = {}};
    return run_in_sandbox(options, body);
  }
};

long reboot(unsigned command) {
  return ::syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, command, nullptr);
}

// From a child, whose parent is the sandbox's first process.
Body asking_for(unsigned command, bool with_capability = false) {
  return [command, with_capability](Checks& checks) {
    const long asked = forked([&] {
      if (!with_capability && !drop_capability(CAP_SYS_BOOT)) return -1L;
      return reboot(command);
    });
    checks.expect(false, "still there: " + (asked == 0 ? "success" : errno_name(errno)));
  };
}

TEST_F(RebootStop, EndsTheSandbox) {
  for (const unsigned command : kEnding) {
    EXPECT_EQ(in_sandbox(asking_for(command), false), "still there: EPERM\n") << "without sidecall";
    EXPECT_EQ(in_sandbox(asking_for(command)), kEnded) << command;
  }
}

TEST_F(RebootStop, LeavesWhoHoldsTheCapabilityToTheKernel) {
  const Body body = asking_for(LINUX_REBOOT_CMD_RESTART, true);
  EXPECT_EQ(in_sandbox(body, false), kEnded) << "without sidecall";
  EXPECT_EQ(in_sandbox(body), kEnded);
}

TEST_F(RebootStop, IsForTheSandboxsOwnRootAlone) {
  const Body body = [](Checks& checks) {
    checks.expect(drop_capability(CAP_SYS_BOOT), "dropping CAP_SYS_BOOT");
    for (const unsigned command : kOthers) {
      checks.expect_errno(reboot(command), EPERM, "a command that ends nothing");
    }
    const long wrong = ::syscall(SYS_reboot, 1, 2, LINUX_REBOOT_CMD_CAD_ON, nullptr);
    checks.expect_errno(wrong, EPERM, "wrong magic numbers");
    checks.expect_errno(forked([] {
                          ::setfsuid(1000);
                          ::prctl(PR_SET_DUMPABLE, 1);
                          return reboot(LINUX_REBOOT_CMD_HALT);
                        }),
                        EPERM, "another user");
    // The capability holds in the new namespace, whose root ends no pid namespace of another.
    checks.expect_errno(forked([] {
                          if (::unshare(CLONE_NEWUSER) != 0) return -1L;
                          return reboot(LINUX_REBOOT_CMD_HALT);
                        }),
                        EPERM, "in a user namespace of its own");
  };
  EXPECT_EQ(in_sandbox(body, false), "");
  EXPECT_EQ(in_sandbox(body), "");
}

// It ends that namespace, by the kernel's hand or not at all, and not the sandbox.
TEST_F(RebootStop, LeavesAPidNamespaceOfTheCallersOwnToTheKernel) {
  const Body body = [](Checks& checks) {
    checks.expect_errno(forked([] {
                          if (::unshare(CLONE_NEWPID) != 0) return -1L;
                          return forked([] {
                            if (!drop_capability(CAP_SYS_BOOT)) return -1L;
                            return reboot(LINUX_REBOOT_CMD_HALT);
                          });
                        }),
                        EPERM, "in a pid namespace of its own");
  };
  EXPECT_EQ(in_sandbox(body, false), "");
  EXPECT_EQ(in_sandbox(body), "");
}

}  // namespace
}  // namespace sidecall::testing
