// Emulators that the filter answers: the filter that a policy compiles to, as a runtime would
// install it, and nobody behind it. A call that it notified would fail with ENOSYS.
#include <fcntl.h>
#include <linux/reboot.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

#include "gtest/gtest.h"
#include "kernel/i386.h"
#include "kernel/sandbox.h"
#include "oci/seccomp.h"
#include "policy/compile.h"
#include "policy/policy.h"
#include "support/temporary_directory.h"
#include "unit/policy/filter.h"

namespace sidecall::testing {
namespace {

// The filter of a policy that runs no emulator.
policy::Filter filter_of(std::string_view rule) {
  const auto policy = policy::parse_policy("test", R"({"rules": [)" + std::string(rule) + "]}");
  EXPECT_TRUE(policy) << policy.error().message;
  EXPECT_TRUE(policy::compile_program(*policy)->instances.empty());
  auto filter =
      policy::Filter::build(policy::compile_profile(*policy, oci::allow_all_profile())->profile);
  EXPECT_TRUE(filter) << filter.error().message;
  return *std::move(filter);
}

std::string unserved(const Body& body) {
  return run_in_sandbox({.program = {}, .served = false, .install_filter = {}, .meanwhile = {}},
                        body);
}
std::string filtered(std::string_view rule, const Body& body) {
  const policy::Filter filter = filter_of(rule);
  return unserved([&](Checks& checks) {
    checks.expect(filter.install().has_value(), "installing the filter");
    body(checks);
  });
}

class AnsweredInTheFilter : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

class Chown : public AnsweredInTheFilter {
 protected:
  static constexpr uid_t kUnmapped = 70000;  // in a sandbox of 65,536 ids
  static constexpr std::string_view kPretend =
      R"({"emulate": "chown", "options": {"mode": "pretend"}})";

  static void change_owner(Checks& checks, const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY);
    checks.expect_ok(::chown(path.c_str(), kUnmapped, kUnmapped), "chown");
    checks.expect_ok(::lchown(path.c_str(), kUnmapped, kUnmapped), "lchown");
    checks.expect_ok(::fchown(fd, kUnmapped, kUnmapped), "fchown");
    checks.expect_ok(::fchownat(AT_FDCWD, path.c_str(), kUnmapped, kUnmapped, 0), "fchownat");
#if defined(__x86_64__)
    constexpr long kChown32 = 212;
    constexpr long kLchown32 = 198;
    constexpr long kFchown32 = 207;
    char* low = low_page();
    path.copy(low, path.size());
    const std::uint64_t name = address_of(low);
    checks.expect_ok(call_i386(kChown32, name, kUnmapped, kUnmapped), "chown32");
    checks.expect_ok(call_i386(kLchown32, name, kUnmapped, kUnmapped), "lchown32");
    checks.expect_ok(call_i386(kFchown32, static_cast<unsigned>(fd), kUnmapped, kUnmapped),
                     "fchown32");
#endif
  }
};

TEST_F(Chown, SucceedsWithoutAChange) {
  const support::TemporaryDirectory directory;
  const std::string path = directory.file("file");
  const int made = ::open(path.c_str(), O_CREAT | O_CLOEXEC | O_RDONLY, 0644);
  ASSERT_EQ(::fchown(made, kOutsideRoot, kOutsideRoot), 0);
  ::chmod(directory.path().c_str(), 0755);
  const Body body = [&](Checks& checks) { change_owner(checks, path); };

  const std::string off = unserved(body);
  for (const char* call :
       {"chown: EINVAL", "lchown: EINVAL", "fchown: EINVAL", "fchownat: EINVAL"}) {
    EXPECT_NE(off.find(call), std::string::npos) << off;
  }
  EXPECT_EQ(filtered(kPretend, body), "");
  struct stat status {};
  ASSERT_EQ(::fstat(made, &status), 0);
  EXPECT_EQ(status.st_uid, kOutsideRoot);
  EXPECT_EQ(status.st_gid, kOutsideRoot);

  EXPECT_EQ(run_natively(body), "");
  ASSERT_EQ(::fstat(made, &status), 0);
  EXPECT_EQ(status.st_uid, kUnmapped) << "natively it is a change";
  ::close(made);
}

TEST_F(Chown, AnswersWhatIsNamedOnly) {
  EXPECT_EQ(filtered(R"({"emulate": "chown", "syscalls": ["fchown"], "options": {"mode": "pretend"},
                         "when": [{"index": 1, "value": 70000, "op": "SCMP_CMP_EQ"}]})",
                     [](Checks& checks) {
                       checks.expect_ok(::fchown(-1, kUnmapped, 0), "fchown to 70000");
                       checks.expect_errno(::fchown(-1, 5, 0), EBADF, "fchown to 5");
                       checks.expect_errno(::chown("", kUnmapped, 0), ENOENT, "chown");
                     }),
            "");
}

class Swap : public AnsweredInTheFilter {
 protected:
  static constexpr const char* kNowhere = "/nowhere/swap";
  static long on(int flags) { return ::syscall(SYS_swapon, kNowhere, flags); }
  static long off() { return ::syscall(SYS_swapoff, kNowhere); }
};

TEST_F(Swap, LeavesFlagsThatTheKernelRefuses) {
  const Body body = [](Checks& checks) {
    for (const int flags : {0x80000, 0x88000, INT32_MIN, -1}) {
      checks.expect_errno(on(flags), EINVAL, "flags " + std::to_string(flags));
    }
  };
  EXPECT_EQ(run_natively(body), "");
  EXPECT_EQ(filtered(R"({"emulate": "swap", "options": {"mode": "pretend"}})", body), "");
}

TEST_F(Swap, PretendsOrFails) {
  const Body success = [](Checks& checks) {
    checks.expect_ok(on(0), "swapon");
    checks.expect_ok(on(0x7ffff), "swapon with every flag");
    checks.expect_ok(off(), "swapoff");
  };
  const std::string without = unserved(success);
  EXPECT_NE(without.find("swapon: EPERM"), std::string::npos) << without;
  EXPECT_NE(without.find("swapoff: EPERM"), std::string::npos) << without;
  EXPECT_EQ(filtered(R"({"emulate": "swap", "options": {"mode": "pretend"}})", success), "");
  EXPECT_EQ(filtered(R"({"emulate": "swap", "options": {"mode": "errno", "errno": "ENOSYS"}})",
                     [](Checks& checks) {
                       checks.expect_errno(on(0), ENOSYS, "swapon");
                       checks.expect_errno(off(), ENOSYS, "swapoff");
                     }),
            "");
}

// No call here is made where it could reach the machine: natively in a pid namespace of its own,
// with numbers that the kernel refuses; else in a user namespace, which has no right to it.
class Reboot : public AnsweredInTheFilter {
 protected:
  static long reboot(unsigned magic1, unsigned magic2, unsigned command) {
    return ::syscall(SYS_reboot, magic1, magic2, command, nullptr);
  }
  static constexpr unsigned kMagic1 = LINUX_REBOOT_MAGIC1;
  static constexpr unsigned kMagic2 = LINUX_REBOOT_MAGIC2;
  static constexpr unsigned kCommands[] = {LINUX_REBOOT_CMD_RESTART,   LINUX_REBOOT_CMD_HALT,
                                           LINUX_REBOOT_CMD_POWER_OFF, LINUX_REBOOT_CMD_RESTART2,
                                           LINUX_REBOOT_CMD_KEXEC,     LINUX_REBOOT_CMD_SW_SUSPEND,
                                           LINUX_REBOOT_CMD_CAD_ON,    LINUX_REBOOT_CMD_CAD_OFF};

  static bool kernel_refuses() {
    constexpr unsigned kHalt = LINUX_REBOOT_CMD_HALT;
    const auto is_invalid = [](long result) { return result == -1 && errno == EINVAL; };
    return is_invalid(reboot(kMagic1 + 1, kMagic2, kHalt)) &&
           is_invalid(reboot(kMagic1, kMagic2 + 1, kHalt)) &&
           is_invalid(reboot(kMagic1, kMagic2, kHalt + 1));
  }
};

TEST_F(Reboot, LeavesWhatTheKernelRefuses) {
  const Body body = [](Checks& checks) {
    const bool apart = ::unshare(CLONE_NEWPID) == 0;
    checks.expect(apart, "a pid namespace of its own");
    if (!apart) return;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(kernel_refuses() ? 0 : 1);
    int status = 1;
    ::waitpid(child, &status, 0);
    checks.expect(status == 0, "EINVAL for a wrong number");
  };
  EXPECT_EQ(run_natively(body), "");
  EXPECT_EQ(filtered(R"({"emulate": "reboot", "options": {"mode": "pretend"}})", body), "");
}

TEST_F(Reboot, PretendsOrFails) {
  const Body success = [](Checks& checks) {
    for (const unsigned command : kCommands) {
      checks.expect_ok(reboot(kMagic1, kMagic2, command), "command " + std::to_string(command));
    }
  };
  const std::string without = unserved(success);
  EXPECT_NE(without.find("command 0: EPERM"), std::string::npos) << without;
  EXPECT_EQ(filtered(R"({"emulate": "reboot", "options": {"mode": "pretend"}})", success), "");
  EXPECT_EQ(filtered(R"({"emulate": "reboot", "options": {"mode": "errno", "errno": "ENOSYS"}})",
                     [](Checks& checks) {
                       checks.expect_errno(reboot(kMagic1, kMagic2, LINUX_REBOOT_CMD_CAD_OFF),
                                           ENOSYS, "reboot");
                     }),
            "");
}

TEST_F(AnsweredInTheFilter, ClockFailsWithTheErrorOfChoice) {
  EXPECT_EQ(filtered(R"({"emulate": "clock", "syscalls": ["clock_settime", "settimeofday"],
                         "options": {"mode": "errno", "errno": "ENOSYS"}})",
                     [](Checks& checks) {
                       checks.expect_errno(::syscall(SYS_clock_settime, CLOCK_REALTIME, nullptr),
                                           ENOSYS, "clock_settime");
                       checks.expect_errno(::syscall(SYS_clock_settime, CLOCK_MONOTONIC, nullptr),
                                           EINVAL, "another clock");
                       checks.expect_errno(::syscall(SYS_settimeofday, nullptr, nullptr), ENOSYS,
                                           "settimeofday");
                     }),
            "");
}

}  // namespace
}  // namespace sidecall::testing
