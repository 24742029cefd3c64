#include "emulators/mknod.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "support/fake_actor.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"
#include "support/verdicts.h"

namespace sidecall::emulators {
namespace {

using support::continues;
using support::errno_of;
using support::FakeActor;
using support::Look;
using support::succeeds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

enum : unsigned { kMknod, kMknodat };

constexpr std::uint64_t kPath = 0x7000;
constexpr std::uint64_t kCharacter = S_IFCHR | 0666;
constexpr std::uint64_t kAtCwd = static_cast<std::uint32_t>(AT_FDCWD);
constexpr std::uint64_t kNull = 0x103;  // 1:3, as the kernel packs it
constexpr std::uint32_t kInstance = 3;
constexpr std::uint64_t kGarbage = 0xdead'beef'0000'0000;

class MknodTest : public testing::Test {
 protected:
  MknodTest() {
    auto made = mknod_row().make(
        {{"devices", std::vector<std::string>{"c 1:3", "c 1:5", "b 7:*", "c 4095:1048575"}}});
    EXPECT_TRUE(made) << made.error().message;
    emulator_ = std::move(*made);
    target_.map_string(kPath, "/dev/null");
    helper_.emulator = emulator_.get();
  }

  Verdict mknod(std::uint64_t path, std::uint64_t mode, std::uint64_t dev) {
    return emulate({.member = kMknod, .args = {path, mode, dev}});
  }
  Verdict mknodat(std::uint64_t dirfd, std::uint64_t path, std::uint64_t mode, std::uint64_t dev) {
    return emulate({.member = kMknodat, .args = {dirfd, path, mode, dev}});
  }
  Verdict emulate(const Call& call) {
    Environment environment{.target = target_,
                            .sandbox = sandbox_,
                            .actor = &actor_,
                            .helper = &helper_,
                            .instance = kInstance,
                            .made_before = made_before_};
    Outcome outcome = emulator_->emulate(call, environment);
    EXPECT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(target_.anything_read_twice());
    return std::move(outcome).value_or(Gone{});
  }

  bool made_before_ = false;
  std::unique_ptr<Emulator> emulator_;
  support::FakeTarget target_;
  FakeActor actor_;
  support::FakeHelper helper_;
  std::vector<support::FakeHost::Node>& made_ = helper_.host.made;
  support::FakeSandbox sandbox_;
};

TEST_F(MknodTest, MakesAListedNodeAsTheCaller) {
  target_.caller.fsuid = 100'000;
  target_.caller.fsgid = 100'001;
  target_.caller.groups = {7, 8};
  target_.caller.umask = 0137;
  EXPECT_TRUE(succeeds(mknod(kPath, kCharacter, kNull)));
  // The kernel was asked first, as the caller.
  ASSERT_THAT(actor_.files.asked, SizeIs(1));
  EXPECT_EQ(actor_.files.asked[0].parent, "/dev/.");
  EXPECT_EQ(actor_.files.asked[0].name, "null");
  EXPECT_EQ(actor_.files.asked[0].mode, kCharacter);
  EXPECT_EQ(actor_.files.asked[0].device, ::makedev(1, 3));
  ASSERT_THAT(actor_.views, SizeIs(1));
  EXPECT_EQ(actor_.views[0].root, "root");
  EXPECT_EQ(actor_.views[0].base, "none");
  EXPECT_EQ(actor_.views[0].credentials.fsuid, 100'000U);
  EXPECT_THAT(actor_.views[0].credentials.groups, ElementsAre(7, 8));
  // Then the helper made it there.
  EXPECT_THAT(helper_.instances, ElementsAre(kInstance));
  ASSERT_THAT(made_, SizeIs(1));
  EXPECT_EQ(made_[0].parent, "/dev/.");
  EXPECT_EQ(made_[0].name, "null");
  EXPECT_EQ(made_[0].mode, kCharacter);
  EXPECT_EQ(made_[0].device, ::makedev(1, 3));
  EXPECT_EQ(made_[0].owner.user, 100'000U);
  EXPECT_EQ(made_[0].owner.group, 100'001U);
  EXPECT_EQ(made_[0].owner.umask, 0137U);
}

TEST_F(MknodTest, ANodeThatTheSameCallHasMadeBeforeIsItsSuccess) {
  made_before_ = true;
  actor_.files.make_failure = EEXIST;
  EXPECT_TRUE(succeeds(mknod(kPath, kCharacter, kNull)));
  actor_.files.make_failure = EACCES;
  target_.map_string(kPath + 0x10000, "/dev/null");
  EXPECT_EQ(errno_of(mknod(kPath + 0x10000, kCharacter, kNull)), EACCES);
}

TEST_F(MknodTest, WhatTheKernelAnswersTheCallerStands) {
  for (const int number : {EEXIST, EACCES, EROFS, ENOENT, EOVERFLOW}) {
    actor_.files.make_failure = number;
    const auto path = static_cast<std::uint64_t>(0x10000 + number * 0x1000);
    target_.map_string(path, "/dev/null");
    EXPECT_EQ(errno_of(mknod(path, kCharacter, kNull)), number);
  }
  actor_.files.make_failure = 0;
  EXPECT_TRUE(succeeds(mknod(kPath, kCharacter, kNull)));
  EXPECT_THAT(helper_.instances, IsEmpty());
}

TEST_F(MknodTest, ADirectoryThatCannotBeReachedIsNotTheHelpersBusiness) {
  actor_.files.open_failure = EPERM;
  EXPECT_EQ(errno_of(mknod(kPath, kCharacter, kNull)), EPERM);
  EXPECT_THAT(helper_.instances, IsEmpty());
}

// A worker that has been taken over gains no node that the policy does not list.
TEST_F(MknodTest, TheHelperChecksThePolicyItself) {
  const auto step = [](std::uint64_t mode, std::uint64_t dev) {
    Step made;
    made.numbers = {mode, dev};
    made.texts.emplace_back("x");
    made.fds.push_back(support::named_fd("parent"));
    return made;
  };
  EXPECT_TRUE(emulator_->perform(step(kCharacter, kNull), helper_.host));
  EXPECT_EQ(emulator_->perform(step(S_IFBLK | 0600, 0x800), helper_.host).error().value, EPERM);
  EXPECT_EQ(emulator_->perform(step(S_IFREG | 0600, kNull), helper_.host).error().value, EPERM);
  EXPECT_EQ(emulator_->perform(Step{}, helper_.host).error().value, EINVAL);
  EXPECT_THAT(made_, SizeIs(1));
}

TEST_F(MknodTest, MknodatTakesItsArgumentsOneRegisterOn) {
  EXPECT_TRUE(succeeds(mknodat(kAtCwd, kPath, S_IFBLK | 0600, 0x705)));
  ASSERT_THAT(made_, SizeIs(1));
  EXPECT_EQ(made_[0].mode, S_IFBLK | 0600U);
  EXPECT_EQ(made_[0].device, ::makedev(7, 5));
}

TEST_F(MknodTest, UnpacksTheLargestDeviceNumber) {
  EXPECT_TRUE(succeeds(mknod(kPath, kCharacter, 0xffff'ffff)));
  EXPECT_EQ(made_.at(0).device, ::makedev(4095, 1048575));
}

TEST_F(MknodTest, KeepsTheModesSpecialBits) {
  EXPECT_TRUE(succeeds(mknod(kPath, S_IFCHR | 07777, kNull)));
  EXPECT_EQ(made_.at(0).mode, S_IFCHR | 07777U);
}

TEST_F(MknodTest, ARelativePathStartsAtTheWorkingDirectoryOrTheDescriptor) {
  for (const std::uint64_t path : {0x9000U, 0xa000U, 0xb000U}) target_.map_string(path, "null");
  target_.descriptors = {{5, "five"}};
  EXPECT_TRUE(succeeds(mknod(0x9000, kCharacter, kNull)));
  EXPECT_TRUE(succeeds(mknodat(5, 0xa000, kCharacter, kNull)));
  EXPECT_TRUE(succeeds(mknodat(kAtCwd, 0xb000, kCharacter, kNull)));
  ASSERT_THAT(made_, SizeIs(3));
  EXPECT_EQ(actor_.views[0].base, "cwd");
  EXPECT_EQ(actor_.views[1].base, "five");
  EXPECT_EQ(actor_.views[2].base, "cwd");
}

TEST_F(MknodTest, AnAbsolutePathNeedsNoDescriptorOfTheCallers) {
  EXPECT_TRUE(succeeds(mknodat(77, kPath, kCharacter, kNull)));
  EXPECT_EQ(actor_.views.at(0).base, "none");
  EXPECT_EQ(target_.looks(Look::kDescriptor), 0);
}

TEST_F(MknodTest, UpperHalvesOfRegistersAreIgnored) {
  target_.map_string(0x9000, "null");
  target_.descriptors = {{5, "five"}};
  EXPECT_TRUE(succeeds(
      mknodat(kGarbage | 5, 0x9000, kGarbage | 0xffff'0000 | kCharacter, kGarbage | kNull)));
  ASSERT_THAT(made_, SizeIs(1));
  EXPECT_EQ(actor_.views[0].base, "five");
  EXPECT_EQ(made_[0].mode, kCharacter);
  EXPECT_EQ(made_[0].device, ::makedev(1, 3));
}

TEST_F(MknodTest, WhatIsNotListedIsLeftToTheKernelUnseen) {
  EXPECT_TRUE(continues(mknod(kPath, kCharacter, 0x800)));      // c 8:0
  EXPECT_TRUE(continues(mknod(kPath, S_IFBLK | 0600, kNull)));  // b 1:3
  EXPECT_TRUE(continues(mknod(kPath, kCharacter, 0)));          // an overlay whiteout
  EXPECT_TRUE(continues(mknod(kPath, kCharacter, 0x10'0103)));  // c 1:259
  for (const int type : {S_IFREG, S_IFIFO, S_IFSOCK, S_IFDIR, S_IFLNK, 0}) {
    EXPECT_TRUE(continues(mknod(kPath, static_cast<mode_t>(type) | 0600U, kNull)))
        << std::oct << type;
  }
  EXPECT_THAT(made_, IsEmpty());
  EXPECT_EQ(target_.looks(Look::kReadString), 0);
}

TEST_F(MknodTest, WhoLacksTheCapabilityIsLeftToTheKernel) {
  target_.caller.effective_capabilities = ~(1ULL << CAP_MKNOD);
  EXPECT_TRUE(continues(mknod(kPath, kCharacter, kNull)));
  EXPECT_THAT(made_, IsEmpty());
}

TEST_F(MknodTest, WhoIsInAnotherUserNamespaceIsLeftToTheKernel) {
  target_.in_sandbox = false;
  EXPECT_TRUE(continues(mknod(kPath, kCharacter, kNull)));
  EXPECT_THAT(made_, IsEmpty());
}

TEST_F(MknodTest, PathsThatCannotBeCopiedAreTheKernelsErrors) {
  EXPECT_EQ(errno_of(mknod(0, kCharacter, kNull)), EFAULT);
  target_.map(0x9000, "no NUL");
  EXPECT_EQ(errno_of(mknod(0x9000, kCharacter, kNull)), EFAULT);
  target_.map_string(0xa000, "");
  EXPECT_EQ(errno_of(mknod(0xa000, kCharacter, kNull)), ENOENT);
  target_.map_string(0xb000, "");
  EXPECT_EQ(errno_of(mknodat(99, 0xb000, kCharacter, kNull)), ENOENT);
  EXPECT_THAT(made_, IsEmpty());
}

TEST_F(MknodTest, TheLongestPathPassesWholeAndOneMoreByteDoesNot) {
  const std::string longest(4095, 'p');
  target_.map_string(0x10000, longest);
  EXPECT_TRUE(succeeds(mknod(0x10000, kCharacter, kNull)));
  EXPECT_EQ(made_.at(0).name, longest);
  target_.map_string(0x20000, longest + "p");
  EXPECT_EQ(errno_of(mknod(0x20000, kCharacter, kNull)), ENAMETOOLONG);
  EXPECT_THAT(made_, SizeIs(1));
}

TEST_F(MknodTest, ABadDescriptorIsEbadf) {
  target_.map_string(0x9000, "null");
  EXPECT_EQ(errno_of(mknodat(99, 0x9000, kCharacter, kNull)), EBADF);
  target_.map_string(0xa000, "null");
  EXPECT_EQ(errno_of(mknodat(0xffff'ffff, 0xa000, kCharacter, kNull)), EBADF);
  EXPECT_THAT(made_, IsEmpty());
}

TEST_F(MknodTest, TheHelpersErrnoIsTheCallers) {
  helper_.host.failure = ENOSPC;
  EXPECT_EQ(errno_of(mknod(kPath, kCharacter, kNull)), ENOSPC);
}

// Whichever look fails, nothing has been made: so nothing is made before all is checked.
TEST_F(MknodTest, NothingIsMadeBeforeEverythingIsChecked) {
  std::uint64_t path = 0x9000;
  for (const Look look : {Look::kReadString, Look::kCredentials, Look::kUserNamespace, Look::kRoot,
                          Look::kWorkingDirectory}) {
    target_.map_string(path, "null");
    target_.fail(look, ESRCH);
    EXPECT_EQ(errno_of(mknod(path, kCharacter, kNull)), ESRCH) << static_cast<int>(look);
    EXPECT_THAT(made_, IsEmpty()) << static_cast<int>(look);
    target_.fail(look, 0);
    path += 0x1000;
  }
}

class MknodBindTest : public MknodTest {
 protected:
  MknodBindTest() {
    auto made = mknod_row().make({{"devices", std::vector<std::string>{"c 1:3"}}, {"bind", true}});
    EXPECT_TRUE(made) << made.error().message;
    emulator_ = std::move(*made);
    helper_.emulator = emulator_.get();
  }
};

TEST_F(MknodBindTest, ANodeThatWorksStays) {
  EXPECT_TRUE(succeeds(mknod(kPath, kCharacter, kNull)));
  EXPECT_THAT(made_, SizeIs(1));
  EXPECT_THAT(actor_.files.attached, IsEmpty());
}

TEST_F(MknodBindTest, AUselessNodeIsReplacedByAMountedOne) {
  helper_.host.nodes_work = false;
  EXPECT_TRUE(succeeds(mknod(kPath, kCharacter, kNull)));
  EXPECT_THAT(actor_.files.removed, ElementsAre("null"));
  EXPECT_THAT(actor_.files.files_made, ElementsAre("null"));
  EXPECT_THAT(actor_.files.attached, ElementsAre(std::pair("loose-node", "file-null")));
  EXPECT_EQ(actor_.views.back().lent, 1ULL << CAP_SYS_ADMIN);
  sandbox_.own_user_namespace = false;
  target_.map_string(0x9000, "/dev/null");
  EXPECT_TRUE(succeeds(mknod(0x9000, kCharacter, kNull)));
  EXPECT_THAT(actor_.files.attached, SizeIs(1)) << "not without a user namespace of its own";
}

TEST_F(MknodBindTest, SaysWhatItNeedsForThat) {
  EXPECT_TRUE(emulator_->further_rights().makes_mounts);
  EXPECT_FALSE((*mknod_row().make({{"devices", std::vector<std::string>{"c 1:3"}}}))
                   ->further_rights()
                   .makes_mounts);
}

TEST(MknodOptions, ABadDeviceIsNamed) {
  const auto made = mknod_row().make({{"devices", std::vector<std::string>{"c one:3"}}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::StartsWith("devices: \"c one:3\" is not a device"));
}

TEST(MknodNotify, TakesDeviceNodesAndLeavesWhiteoutsAndOtherFiles) {
  const auto notified = [](std::size_t member, std::array<std::uint64_t, 6> args) {
    for (const Conditions& alternative : mknod_row().members[member].notify) {
      if (hold(alternative, args)) return true;
    }
    return false;
  };
  for (const std::size_t member : {kMknod, kMknodat}) {
    const auto args = [&](std::uint64_t mode, std::uint64_t dev) {
      return member == kMknod ? std::array<std::uint64_t, 6>{kPath, mode, dev}
                              : std::array<std::uint64_t, 6>{kAtCwd, kPath, mode, dev};
    };
    EXPECT_TRUE(notified(member, args(kCharacter, kNull)));
    EXPECT_TRUE(notified(member, args(S_IFBLK | 0600, 0)));
    EXPECT_TRUE(notified(member, args(kGarbage | kCharacter, kNull)));
    EXPECT_FALSE(notified(member, args(kCharacter, 0)));
    EXPECT_FALSE(notified(member, args(S_IFREG | 0644, kNull)));
    EXPECT_FALSE(notified(member, args(S_IFIFO | 0644, kNull)));
    EXPECT_FALSE(notified(member, args(0644, kNull)));
  }
}

}  // namespace
}  // namespace sidecall::emulators
