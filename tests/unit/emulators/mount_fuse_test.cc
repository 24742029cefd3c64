// The mount emulator's option "fuse" beside fakes; tests/kernel/fuse_mount_test.cc runs a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "emulators/mount.h"
#include "support/fake_actor.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"
#include "support/verdicts.h"

namespace sidecall::emulators {
namespace {

using support::errno_of;
using support::succeeds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

using Texts = std::vector<std::string>;

class FuseTest : public testing::Test {
 protected:
  FuseTest() {
    auto made = mount_row().make({{"filesystems", Texts{"ext4: norecovery", "xfs"}},
                                  {"fuse", Texts{"ext4: fuse2fs -o fakeroot"}},
                                  {"devices", Texts{"b 7:*"}}});
    EXPECT_TRUE(made) << made.error().message;
    emulator_ = std::move(*made);
    helper_.emulator = launcher_.emulator = emulator_.get();
    target_.map_string(0x1000, "/image");
    target_.map_string(0x2000, "/mnt");
    target_.map_string(0x3000, "ext4");
    target_.map_string(0x4000, "norecovery");
    target_.caller.effective_capabilities = 1ULL << CAP_SYS_ADMIN;
  }
  Verdict mount(std::uint64_t flags) {
    Environment environment{.target = target_,
                            .sandbox = sandbox_,
                            .actor = &actor_,
                            .helper = &helper_,
                            .launcher = &launcher_};
    const Call call{.member = 0, .args = {0x1000, 0x2000, 0x3000, flags, 0x4000}};
    return emulator_->emulate(call, environment).value_or(Gone{});
  }
  // In the launcher: a step with a source, and the errno of what comes of it.
  int launch(std::vector<std::string> texts, std::uint64_t flags = 0) {
    Step step;
    step.numbers[0] = flags;
    step.texts = std::move(texts);
    step.fds.push_back(support::named_fd("source"));
    const auto launched = emulator_->launch(step, launcher_.programs);
    return launched ? 0 : launched.error().value;
  }

  std::unique_ptr<Emulator> emulator_;
  support::FakeTarget target_;
  support::FakeActor actor_;
  support::FakeHelper helper_;
  support::FakeLauncher launcher_;
  support::FakeSandbox sandbox_;
};

TEST_F(FuseTest, AnImageFileIsServedByItsProgram) {
  actor_.files.directories = {"/mnt"};
  EXPECT_TRUE(succeeds(mount(MS_NOEXEC | MS_SYNCHRONOUS)));
  EXPECT_THAT(actor_.files.lent, ElementsAre(Pair("/image", true)));
  ASSERT_THAT(launcher_.programs.started, SizeIs(1));
  const auto& started = launcher_.programs.started[0];
  EXPECT_THAT(started.command, ElementsAre("fuse2fs", "-o", "fakeroot"));
  EXPECT_EQ(started.options, "norecovery");
  EXPECT_EQ(started.flags, MS_NOEXEC | MS_SYNCHRONOUS);
  EXPECT_THAT(launcher_.programs.sources, ElementsAre("lent"));
  ASSERT_THAT(actor_.files.attached, SizeIs(1));
  EXPECT_EQ(actor_.files.attached[0].first, "served");
  EXPECT_TRUE(sandbox_.ledger.has(actor_.files.last_mount));
  EXPECT_THAT(helper_.instances, IsEmpty()) << "nothing that takes the host's rights";
}

TEST_F(FuseTest, AReadOnlyMountOpensTheImageForReading) {
  actor_.files.directories = {"/mnt"};
  EXPECT_TRUE(succeeds(mount(MS_RDONLY)));
  EXPECT_THAT(actor_.files.lent, ElementsAre(Pair("/image", false)));
}

TEST_F(FuseTest, NoProgramIsStartedForWhatCannotBeMounted) {
  EXPECT_EQ(errno_of(mount(0)), ENOTDIR) << "the place is a file";
  actor_.files.directories = {"/mnt"};
  EXPECT_EQ(errno_of(mount(MS_I_VERSION)), EINVAL);
  EXPECT_EQ(errno_of(mount(MS_NOUSER)), EINVAL);
  actor_.files.lend_failure = EACCES;
  EXPECT_EQ(errno_of(mount(0)), EACCES);
  actor_.files.directories = {"/mnt", "/image"};
  EXPECT_EQ(errno_of(mount(0)), ENOTBLK);
  EXPECT_THAT(launcher_.programs.started, IsEmpty());
  EXPECT_THAT(actor_.files.attached, IsEmpty());
}

TEST_F(FuseTest, TheProgramsRefusalIsTheCallers) {
  actor_.files.directories = {"/mnt"};
  launcher_.programs.failure = ENODEV;
  EXPECT_EQ(errno_of(mount(0)), ENODEV);
  EXPECT_THAT(actor_.files.attached, IsEmpty());
}

TEST_F(FuseTest, TheLauncherChecksThePolicyItself) {
  EXPECT_EQ(launch({"ext4", "norecovery"}), 0);
  EXPECT_EQ(launch({"ext4", "norecovery,logfile=/x"}), EPERM);
  EXPECT_EQ(launch({"xfs", ""}), EPERM);
  EXPECT_EQ(launch({"vfat", ""}), EPERM);
  EXPECT_EQ(launch({"ext4"}), EINVAL);
  EXPECT_EQ(launch({}), EINVAL);
  EXPECT_THAT(launcher_.programs.started, SizeIs(1));
  Step without_source;
  without_source.texts = {"ext4", ""};
  EXPECT_EQ(emulator_->launch(without_source, launcher_.programs).error().value, EINVAL);
}

TEST_F(FuseTest, TheHelperGivesNodesOfListedDevicesAndMountsNothing) {
  constexpr std::size_t kWhat = 7;
  constexpr std::uint64_t kMakeNode = 2;
  Step step;
  step.numbers[1] = ::gnu_dev_makedev(7, 3);
  step.numbers[kWhat] = kMakeNode;
  const auto given = emulator_->perform(step, helper_.host);
  ASSERT_TRUE(given);
  EXPECT_THAT(given->fds, SizeIs(1));
  ASSERT_THAT(helper_.host.made, SizeIs(1));
  EXPECT_EQ(helper_.host.made[0].mode, static_cast<mode_t>(S_IFBLK | 0600));
  step.numbers[1] = ::gnu_dev_makedev(8, 0);
  EXPECT_EQ(emulator_->perform(step, helper_.host).error().value, EPERM);
  step.numbers[1] = ::gnu_dev_makedev(7, 3);
  step.numbers[kWhat] = 0;
  step.texts = {"ext4", "/image", ""};
  EXPECT_EQ(emulator_->perform(step, helper_.host).error().value, EPERM) << "not by the kernel";
  step.texts = {"xfs", "/image", ""};
  EXPECT_TRUE(emulator_->perform(step, helper_.host));
  ASSERT_THAT(helper_.host.aside, SizeIs(1));
}

TEST_F(FuseTest, WithoutTheOptionNothingIsStarted) {
  auto made = mount_row().make({{"filesystems", Texts{"ext4"}}, {"devices", Texts{"b 7:*"}}});
  ASSERT_TRUE(made);
  EXPECT_FALSE((*made)->further_rights().starts_programs);
  EXPECT_TRUE(emulator_->further_rights().starts_programs);
  emulator_ = std::move(*made);
  EXPECT_EQ(launch({"ext4", ""}), EPERM);
  Step node;
  node.numbers[1] = ::gnu_dev_makedev(7, 3);
  node.numbers[7] = 2;
  EXPECT_EQ(emulator_->perform(node, helper_.host).error().value, EPERM);
}

}  // namespace
}  // namespace sidecall::emulators
