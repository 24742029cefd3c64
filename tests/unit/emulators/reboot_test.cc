// Mode "stop". The others are in fixed_rows_test.cc.
#include "emulators/reboot.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/reboot.h>

#include <array>

#include "support/fake_sandbox.h"
#include "support/fake_target.h"

namespace sidecall::emulators {
namespace {

using support::Look;

class RebootTest : public testing::Test {
 protected:
  RebootTest() {
    auto made = reboot_row().make({{"mode", std::string("stop")}});
    EXPECT_TRUE(made) << made.error().message;
    emulator_ = std::move(*made);
    target_.caller.effective_capabilities = ~(1ULL << CAP_SYS_BOOT);
  }
  // "continue", "ok" or an errno's name.
  std::string reboot(std::uint64_t command) {
    Environment environment{.target = target_, .sandbox = sandbox_};
    const Outcome outcome = emulator_->emulate(
        {.args = {LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, command}}, environment);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (std::holds_alternative<Continue>(*outcome)) return "continue";
    if (std::holds_alternative<Value>(*outcome)) return "ok";
    return errno_name(std::get<Errno>(*outcome).value);
  }

  std::unique_ptr<Emulator> emulator_;
  support::FakeTarget target_;
  support::FakeSandbox sandbox_;
};

TEST_F(RebootTest, StopsTheSandboxForItsRoot) {
  int stops = 0;
  for (const unsigned command :
       std::array<unsigned, 4>{LINUX_REBOOT_CMD_RESTART, LINUX_REBOOT_CMD_RESTART2,
                               LINUX_REBOOT_CMD_HALT, LINUX_REBOOT_CMD_POWER_OFF}) {
    EXPECT_EQ(reboot(0xdead'beef'0000'0000 | command), "ok") << command;
    EXPECT_EQ(sandbox_.stops, ++stops);
  }
  sandbox_.stop_failure = EPERM;
  EXPECT_EQ(reboot(LINUX_REBOOT_CMD_HALT), "EPERM");
}

TEST_F(RebootTest, CommandsThatEndNothingAreTheKernels) {
  for (const unsigned command :
       std::array<unsigned, 4>{LINUX_REBOOT_CMD_CAD_ON, LINUX_REBOOT_CMD_CAD_OFF,
                               LINUX_REBOOT_CMD_KEXEC, LINUX_REBOOT_CMD_SW_SUSPEND}) {
    EXPECT_EQ(reboot(command), "continue") << command;
  }
  EXPECT_EQ(target_.looks(Look::kCredentials), 0);
}

TEST_F(RebootTest, OthersAreTheKernels) {
  target_.caller.fsuid = 1000;
  EXPECT_EQ(reboot(LINUX_REBOOT_CMD_HALT), "continue");
  target_.caller.fsuid = 0;
  target_.caller.effective_capabilities = ~0ULL;
  EXPECT_EQ(reboot(LINUX_REBOOT_CMD_HALT), "continue") << "who can do it without us";
  target_.caller.effective_capabilities = 0;
  target_.in_sandbox = false;
  EXPECT_EQ(reboot(LINUX_REBOOT_CMD_HALT), "continue");
  target_.in_sandbox = true;
  target_.in_sandbox_pids = false;
  EXPECT_EQ(reboot(LINUX_REBOOT_CMD_HALT), "continue");
  EXPECT_EQ(sandbox_.stops, 0);
}

TEST_F(RebootTest, NothingIsStoppedBeforeEverythingIsChecked) {
  for (const Look look : {Look::kCredentials, Look::kUserNamespace, Look::kPidNamespace}) {
    target_.fail(look, ESRCH);
    EXPECT_EQ(reboot(LINUX_REBOOT_CMD_HALT), "ESRCH") << static_cast<int>(look);
    target_.fail(look, 0);
  }
  EXPECT_EQ(sandbox_.stops, 0);
}

TEST_F(RebootTest, NeedsNoHelper) {
  EXPECT_EQ(emulator_->further_rights().needs, Needs::kMemory);
  EXPECT_EQ(emulator_->further_rights().host_capabilities, 0U);
  EXPECT_FALSE(reboot_row().fixed({{"mode", std::string("stop")}}, 0));
}

}  // namespace
}  // namespace sidecall::emulators
