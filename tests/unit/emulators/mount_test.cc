// The mount and umount emulators beside fakes; tests/kernel/mount_test.cc makes real mounts.
#include "emulators/mount.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "emulators/umount.h"
#include "support/fake_actor.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"
#include "support/verdicts.h"

namespace sidecall::emulators {
namespace {

using support::continues;
using support::errno_of;
using support::Look;
using support::succeeds;
using testing::IsEmpty;
using testing::SizeIs;

using Texts = std::vector<std::string>;

constexpr std::uint64_t kSource = 0x1000;
constexpr std::uint64_t kTarget = 0x2000;
constexpr std::uint64_t kType = 0x3000;
constexpr std::uint64_t kData = 0x4000;

class MountTest : public testing::Test {
 protected:
  MountTest() {
    use({{"filesystems", Texts{"ext4: noload", "tmpfs: size", "proc"}},
         {"devices", Texts{"b 7:*"}},
         {"callers", std::string("root")}});
    target_.caller.effective_capabilities = 0;
  }
  void use(const Options& options) {
    auto made = mount_row().make(options);
    EXPECT_TRUE(made) << made.error().message;
    emulator_ = std::move(*made);
    helper_.emulator = emulator_.get();
  }
  // mount(2) of the texts; each call has memory of its own.
  Verdict mount(const char* source, const char* type, std::uint64_t flags = 0,
                const char* data = nullptr) {
    offset_ += 0x10000;
    target_.map_string(offset_ + kSource, source);
    target_.map_string(offset_ + kTarget, "/mnt");
    target_.map_string(offset_ + kType, type);
    if (data != nullptr) target_.map_string(offset_ + kData, data);
    return emulate({.member = 0,
                    .args = {offset_ + kSource, offset_ + kTarget, offset_ + kType, flags,
                             data != nullptr ? offset_ + kData : 0}});
  }
  Verdict emulate(const Call& call) {
    Environment environment{
        .target = target_, .sandbox = sandbox_, .actor = &actor_, .helper = &helper_};
    Outcome outcome = emulator_->emulate(call, environment);
    EXPECT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(target_.anything_read_twice());
    return std::move(outcome).value_or(Gone{});
  }
  void give_capability() { target_.caller.effective_capabilities = 1ULL << CAP_SYS_ADMIN; }

  std::uint64_t offset_ = 0;
  std::unique_ptr<Emulator> emulator_;
  support::FakeTarget target_;
  support::FakeActor actor_;
  support::FakeHelper helper_;
  support::FakeSandbox sandbox_;
};

TEST_F(MountTest, RootIsLentTheCapabilityForWhatAContainerMayMount) {
  EXPECT_TRUE(succeeds(mount("none", "tmpfs", MS_NOSUID | MS_SILENT, "size=1m")));
  ASSERT_THAT(actor_.files.mounted, SizeIs(1));
  const kernel::MountArguments& made = actor_.files.mounted[0];
  EXPECT_EQ(made.source, "none");
  EXPECT_EQ(made.target, "/mnt");
  EXPECT_EQ(made.type, "tmpfs");
  EXPECT_EQ(made.flags, static_cast<unsigned long>(MS_NOSUID | MS_SILENT));
  EXPECT_EQ(made.data, "size=1m");
  EXPECT_EQ(actor_.views[0].lent, 1ULL << CAP_SYS_ADMIN);
  EXPECT_TRUE(sandbox_.ledger.has(actor_.files.last_mount));
  EXPECT_THAT(helper_.instances, IsEmpty());
}

TEST_F(MountTest, WhoHoldsTheCapabilityMountsThatByItself) {
  give_capability();
  EXPECT_TRUE(continues(mount("none", "tmpfs", 0, "size=1m")));
  EXPECT_THAT(actor_.files.mounted, IsEmpty());
}

TEST_F(MountTest, NobodyElseIsServed) {
  target_.caller.fsuid = 1000;
  EXPECT_TRUE(continues(mount("none", "tmpfs")));
  target_.caller.fsuid = 0;
  target_.in_sandbox = false;
  EXPECT_TRUE(continues(mount("none", "tmpfs")));
  target_.in_sandbox = true;
  sandbox_.own_user_namespace = false;
  EXPECT_TRUE(continues(mount("none", "tmpfs")));
  sandbox_.own_user_namespace = true;
  use({{"filesystems", Texts{"tmpfs"}}});
  EXPECT_TRUE(continues(mount("none", "tmpfs"))) << "callers is \"capable\" by default";
  EXPECT_THAT(actor_.views, IsEmpty());
}

TEST_F(MountTest, WhatIsNotListedIsTheKernels) {
  EXPECT_TRUE(continues(mount("none", "ramfs")));
  EXPECT_TRUE(continues(mount("none", "tmpfs", 0, "uid=1")));
  EXPECT_TRUE(continues(mount("none", "proc", 0, "hidepid=2")));
  EXPECT_TRUE(continues(emulate({.member = 0, .args = {kSource, kTarget, 0, 0, 0}}))) << "no type";
  EXPECT_THAT(actor_.files.mounted, IsEmpty());
}

// Case 8: whatever the bits, they reach the kernel unchanged, or the kernel decides.
TEST_F(MountTest, EveryFlagReachesTheKernelOrIsTheKernels) {
  constexpr std::uint64_t kOther =
      MS_REMOUNT | MS_BIND | MS_MOVE | MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t flag = std::uint64_t{1} << bit;
    for (const std::uint64_t flags : {flag, flag | MS_RDONLY, ~flag}) {
      const std::size_t before = actor_.files.mounted.size();
      const Verdict verdict = mount("none", "tmpfs", flags);
      if ((flags & kOther) != 0) {
        EXPECT_TRUE(continues(verdict)) << std::hex << flags;
      } else {
        ASSERT_EQ(actor_.files.mounted.size(), before + 1) << std::hex << flags;
        EXPECT_EQ(actor_.files.mounted.back().flags, flags);
      }
    }
  }
  EXPECT_TRUE(succeeds(mount("none", "tmpfs", 0xC0ED0000 | MS_NODEV)));
  EXPECT_EQ(actor_.files.mounted.back().flags, 0xC0ED0000 | MS_NODEV);
  EXPECT_TRUE(continues(mount("none", "tmpfs", 0xC0ED0000 | MS_REMOUNT)));
}

TEST_F(MountTest, TheFilterNotifiesNewMountsAndNothingElse) {
  const auto notified = [](std::uint64_t flags) {
    for (const Conditions& alternative : mount_row().members[0].notify) {
      if (hold(alternative, {0, 0, 0, flags, 0, 0})) return true;
    }
    return false;
  };
  for (const std::uint64_t flags :
       {std::uint64_t{0}, std::uint64_t{MS_RDONLY}, std::uint64_t{0xC0ED0000}}) {
    EXPECT_TRUE(notified(flags)) << std::hex << flags;
    EXPECT_FALSE(notified(flags | MS_REMOUNT)) << std::hex << flags;
    EXPECT_FALSE(notified(flags | MS_BIND | MS_REC)) << std::hex << flags;
    EXPECT_FALSE(notified(flags | MS_MOVE)) << std::hex << flags;
  }
  EXPECT_FALSE(notified(MS_PRIVATE | MS_REC));
}

// Case 9.
TEST_F(MountTest, TheNewerInterfaceIsSteeredBack) {
  EXPECT_FALSE(mount_row().fixed({}, 0));
  for (const std::size_t member : {1U, 2U}) {
    ASSERT_TRUE(mount_row().fixed({}, member));
    EXPECT_EQ(mount_row().fixed({}, member)->errno_value, ENOSYS);
  }
}

TEST_F(MountTest, ErrorsComeInTheKernelsOrder) {
  const auto failing = [&](std::uint64_t source, std::uint64_t where, std::uint64_t type,
                           std::uint64_t data) {
    return errno_of(emulate({.member = 0, .args = {source, where, type, 0, data}}));
  };
  constexpr std::uint64_t kNowhere = 0xffff'0000;
  EXPECT_EQ(failing(kNowhere, kNowhere, kNowhere, kNowhere), EFAULT);
  target_.map_string(0x100000, std::string(4096, 't'));
  EXPECT_EQ(failing(kNowhere, kNowhere, 0x100000, kNowhere), EINVAL) << "a type of a page";
  target_.map_string(0x200000, "tmpfs");
  target_.map_string(0x300000, std::string(4096, 's'));
  EXPECT_EQ(failing(0x300000, kNowhere, 0x200000, kNowhere), EINVAL) << "a source of a page";
  target_.map_string(0x400000, "tmpfs");
  target_.map_string(0x500000, "");
  EXPECT_EQ(failing(0, 0x500000, 0x400000, 0), ENOENT) << "an empty path";
  EXPECT_THAT(actor_.views, IsEmpty());
}

TEST_F(MountTest, ProcIsTheContainersOwnWithItsMasks) {
  EXPECT_EQ(errno_of(mount("proc", "proc")), ENOTDIR) << "the fake opens a plain file";
  actor_.files.directories = {"/mnt"};
  EXPECT_EQ(errno_of(mount("proc", "proc", 1UL << 31U)), EINVAL) << "MS_NOUSER";
  EXPECT_TRUE(succeeds(mount("proc", "proc")));
  EXPECT_EQ(actor_.files.attached.back().first, "copy-of-proc");
  target_.in_sandbox_pids = false;
  EXPECT_TRUE(succeeds(mount("proc", "proc")));
  EXPECT_EQ(actor_.files.attached.back().first, "new-proc");
}

TEST_F(MountTest, ASourceThatIsNoBlockDeviceIsTheKernelsError) {
  give_capability();
  EXPECT_EQ(errno_of(mount("/dev/loop0", "ext4")), ENOTBLK);  // the fake opens a plain file
  actor_.files.open_failure = ENOENT;
  EXPECT_EQ(errno_of(mount("/dev/loop0", "ext4")), ENOENT);
  EXPECT_THAT(helper_.instances, IsEmpty());
}

TEST_F(MountTest, AServerIsReachedByTheCallersNetwork) {
  use({{"filesystems", Texts{"nfs4: addr=192.0.2.1,vers"}}});
  give_capability();
  actor_.files.directories = {"/mnt"};
  EXPECT_TRUE(continues(mount("host:/", "nfs4", 0, "addr=192.0.2.9")));
  EXPECT_TRUE(continues(mount("192.0.2.1:/", "nfs4", 0, "vers=4.2")));
  EXPECT_THAT(helper_.host.aside, IsEmpty());
  EXPECT_TRUE(succeeds(mount("host:/", "nfs4", MS_NOEXEC, "vers=4.2,addr=192.0.2.1")));
  ASSERT_THAT(helper_.host.aside, SizeIs(1));
  const kernel::AsideMount& made = helper_.host.aside[0];
  EXPECT_EQ(made.source, "host:/");
  EXPECT_EQ(made.data, "vers=4.2,addr=192.0.2.1");
  EXPECT_EQ(made.flags, static_cast<unsigned long>(MS_NOEXEC | MS_NODEV));
  EXPECT_EQ(made.device, 0U);
  EXPECT_EQ(helper_.host.networks[0], "net");
  EXPECT_EQ(actor_.files.attached.back().first, "/aside");
  EXPECT_EQ(helper_.host.dropped, 1);
  target_.fail(Look::kNamespace, ESRCH);
  EXPECT_EQ(errno_of(mount("host:/", "nfs4", 0, "addr=192.0.2.1")), ESRCH);
}

TEST_F(MountTest, TheHelperMountsNoServerWithoutANetworkOrAListedAddress) {
  use({{"filesystems", Texts{"nfs4: addr=192.0.2.1"}}});
  const auto performed = [&](const char* data, bool with_network) {
    Step step;
    step.texts = {"nfs4", "host:/", data};
    if (with_network) step.fds.push_back(support::named_fd("net"));
    return emulator_->perform(step, helper_.host).has_value();
  };
  EXPECT_TRUE(performed("addr=192.0.2.1", true));
  EXPECT_FALSE(performed("addr=192.0.2.1", false));
  EXPECT_FALSE(performed("addr=192.0.2.9", true));
  EXPECT_FALSE(performed("", true));
  EXPECT_THAT(helper_.host.aside, SizeIs(1));
}

// A worker that has been taken over mounts nothing that the policy does not list.
TEST_F(MountTest, TheHelperChecksThePolicyItself) {
  const auto step = [](const char* type, const char* data, dev_t device, std::uint64_t flags) {
    Step made;
    made.numbers[0] = flags;
    made.numbers[1] = device;
    made.texts = {type, "/dev/loop0", data};
    return made;
  };
  const dev_t loop = makedev(7, 3);
  EXPECT_TRUE(emulator_->perform(step("ext4", "noload", loop, MS_NOATIME), helper_.host));
  ASSERT_THAT(helper_.host.aside, SizeIs(1));
  const kernel::AsideMount& made = helper_.host.aside[0];
  EXPECT_EQ(made.type, "ext4");
  EXPECT_EQ(made.source, "/dev/loop0");
  EXPECT_EQ(made.data, "noload");
  EXPECT_EQ(made.flags, static_cast<unsigned long>(MS_NOATIME | MS_NODEV));
  EXPECT_EQ(made.device, loop);
  EXPECT_TRUE(made.id_mapped);
  for (const Step& wrong :
       {step("xfs", "", loop, 0), step("tmpfs", "", loop, 0), step("ext4", "debug", loop, 0),
        step("ext4", "", makedev(8, 0), 0), step("ext4", "", loop, MS_BIND)}) {
    EXPECT_EQ(emulator_->perform(wrong, helper_.host).error().value, EPERM);
  }
  EXPECT_EQ(emulator_->perform(Step{}, helper_.host).error().value, EINVAL);
  EXPECT_THAT(helper_.host.aside, SizeIs(1));
}

TEST(MountOptions, WrongOnesAreNamed) {
  const auto error = [](const Options& options) {
    const auto made = mount_row().make(options);
    return made ? "" : made.error().message;
  };
  EXPECT_THAT(error({{"filesystems", Texts{"nofs"}}}),
              testing::StartsWith("filesystems: \"nofs\""));
  EXPECT_THAT(error({{"devices", Texts{"7"}}}), testing::StartsWith("devices: \"7\""));
  EXPECT_THAT(error({{"callers", std::string("all")}}), testing::StartsWith("callers: \"all\""));
}

class UmountTest : public MountTest {
 protected:
  UmountTest() {
    auto made = umount_row().make({{"callers", std::string("root")}});
    EXPECT_TRUE(made);
    emulator_ = std::move(*made);
    target_.map_string(kTarget, "/mnt");
  }
  Verdict umount(std::uint64_t flags = 0) {
    return emulate({.member = 0, .args = {kTarget, flags}});
  }
};

TEST_F(UmountTest, TakesOffWhatWasMountedHere) {
  sandbox_.ledger.remember(actor_.files.last_mount);
  EXPECT_TRUE(succeeds(umount()));
  EXPECT_THAT(actor_.files.detached, testing::ElementsAre("/mnt"));
  EXPECT_FALSE(sandbox_.ledger.has(actor_.files.last_mount));
}

TEST_F(UmountTest, TakesOffNothingElse) {
  EXPECT_EQ(errno_of(umount()), EPERM);
  EXPECT_EQ(errno_of(emulate({.member = 0, .args = {kTarget, 0x100}})), EINVAL);
  EXPECT_THAT(actor_.files.detached, IsEmpty());
}

TEST_F(UmountTest, WhoHoldsTheCapabilityIsTheKernels) {
  give_capability();
  sandbox_.ledger.remember(actor_.files.last_mount);
  EXPECT_TRUE(continues(umount()));
  EXPECT_THAT(actor_.files.detached, IsEmpty());
}

TEST(MountLedger, IsBounded) {
  std::array<MountLedger::Place, MountLedger::kMost> places{};
  MountLedger ledger(places);
  for (std::uint64_t id = 1; id <= MountLedger::kMost; ++id) ledger.remember(id);
  ledger.remember(99'999);
  EXPECT_FALSE(ledger.has(99'999));
  ledger.forget(1);
  EXPECT_FALSE(ledger.has(1));
  ledger.remember(99'999);
  EXPECT_TRUE(ledger.has(99'999));
}

TEST(MountLedger, NeverHasWhatIsUnknown) {
  std::array<MountLedger::Place, MountLedger::kMost> places{};
  MountLedger ledger(places);
  ledger.remember(MountLedger::kUnknown);
  EXPECT_FALSE(ledger.has(MountLedger::kUnknown));
}

}  // namespace
}  // namespace sidecall::emulators
