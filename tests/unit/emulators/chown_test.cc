// Mode "perform". The other is in fixed_rows_test.cc.
#include "emulators/chown.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>

#include "support/fake_actor.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"

namespace sidecall::emulators {
namespace {

using kernel::Abi;
using support::Look;
using testing::IsEmpty;
using testing::SizeIs;

// Indices into the row's members.
enum : unsigned { kChown, kLchown, kFchown, kFchownat, kChown32, kLchown32, kFchown32 };

constexpr std::uint64_t kPath = 0x7000;
constexpr std::uint64_t kEmpty = 0x8000;
constexpr std::uint64_t kGarbage = 0xdead'beef'0000'0000;
constexpr std::uint64_t kAtCwd = static_cast<std::uint32_t>(AT_FDCWD);

class ChownTest : public testing::Test {
 protected:
  ChownTest() {
    auto made = chown_row().make({{"mode", std::string("perform")}});
    EXPECT_TRUE(made) << made.error().message;
    emulator_ = std::move(*made);
    helper_.emulator = emulator_.get();
    target_.map_string(kPath, "file");
    target_.map_string(kEmpty, "");
    target_.descriptors = {{5, "five"}, {6, "six"}};
    target_.path_descriptors = {6};
  }
  // "continue", "ok" or an errno's name.
  std::string answer(unsigned member, const std::array<std::uint64_t, 6>& args,
                     Abi abi = Abi::kX86_64) {
    Environment environment{
        .target = target_, .sandbox = sandbox_, .actor = &actor_, .helper = &helper_};
    const Outcome outcome =
        emulator_->emulate({.abi = abi, .member = member, .args = args}, environment);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (std::holds_alternative<Continue>(*outcome)) return "continue";
    if (std::holds_alternative<Value>(*outcome)) return "ok";
    return errno_name(std::get<Errno>(*outcome).value);
  }
  // What the helper was asked for last: "file 5:6", with "-" for an id that stays.
  std::string performed() {
    if (host_.empty()) return "nothing";
    const auto& [file, change] = host_.back();
    const auto text = [](const std::optional<std::uint32_t>& id) {
      return id ? std::to_string(*id) : "-";
    };
    return file + " " + text(change.user) + ":" + text(change.group);
  }

  std::unique_ptr<Emulator> emulator_;
  support::FakeTarget target_;
  support::FakeActor actor_;
  support::FakeHelper helper_;
  support::FakeSandbox sandbox_;
  std::vector<support::FakeFiles::Chown>& own_ = actor_.files.chowns;
  std::vector<std::pair<std::string, kernel::OwnerChange>>& host_ = helper_.host.chowns;
};

TEST_F(ChownTest, ChangesWhatTheKernelRefusesTheCaller) {
  target_.caller.fsgid = 7;
  EXPECT_EQ(answer(kChown, {kPath, 5, 6}), "ok");
  ASSERT_THAT(own_, SizeIs(1)) << "first as the caller";
  EXPECT_EQ(own_[0].file, "file");
  EXPECT_EQ(own_[0].user, 5U);
  EXPECT_EQ(own_[0].group, 6U);
  EXPECT_EQ(performed(), "file 5:6");
  EXPECT_EQ(host_[0].second.caller_group, 7U);
  EXPECT_EQ(host_[0].second.capabilities, target_.caller.effective_capabilities);
  EXPECT_FALSE(target_.anything_read_twice());
}

TEST_F(ChownTest, WhatTheKernelAnswersTheCallerStands) {
  for (const int number : {0, EINVAL, EROFS, EOVERFLOW, EACCES}) {
    actor_.files.chown_failure = number;
    EXPECT_EQ(answer(kChown, {kPath, 5, 6}), number == 0 ? "ok" : errno_name(number));
  }
  actor_.files.chown_failure = EPERM;
  actor_.files.open_failure = EPERM;
  EXPECT_EQ(answer(kChown, {kPath, 5, 6}), "EPERM") << "on the way there";
  EXPECT_THAT(host_, IsEmpty());
}

TEST_F(ChownTest, EveryMemberHasItsArguments) {
  EXPECT_EQ(answer(kLchown, {kPath, kGarbage | 5, kGarbage | 6}), "ok");
  EXPECT_EQ(performed(), "file 5:6");
  EXPECT_EQ(answer(kFchown, {kGarbage | 5, 7, 8}), "ok");
  EXPECT_EQ(performed(), "five 7:8");
  EXPECT_EQ(answer(kFchownat, {5, kPath, 9, 10, AT_SYMLINK_NOFOLLOW}), "ok");
  EXPECT_EQ(performed(), "file 9:10");
  EXPECT_EQ(actor_.views.back().base, "five");
  EXPECT_EQ(answer(kFchownat, {6, kEmpty, 11, 12, AT_EMPTY_PATH}), "ok");
  EXPECT_EQ(performed(), "six 11:12") << "one of O_PATH will do";
  EXPECT_EQ(answer(kFchownat, {kAtCwd, kEmpty, 13, 14, AT_EMPTY_PATH}), "ok");
  EXPECT_EQ(performed(), "cwd 13:14");
  EXPECT_EQ(answer(kFchown32, {5, 15, 16}, Abi::kI386), "ok");
  EXPECT_EQ(performed(), "five 15:16");
}

TEST_F(ChownTest, AnIdOfMinusOneStays) {
  EXPECT_EQ(answer(kChown, {kPath, 0xffffffff, 6}), "ok");
  EXPECT_EQ(performed(), "file -:6");
  EXPECT_EQ(answer(kChown, {kPath, 0xffff, ~0ULL}), "ok");
  EXPECT_EQ(performed(), "file 65535:-");
  for (const unsigned member : {kChown, kLchown}) {
    EXPECT_EQ(answer(member, {kPath, 0xffff, 0x5'0006}, Abi::kI386), "ok");
    EXPECT_EQ(performed(), "file -:6") << "ids of 16 bits";
  }
  EXPECT_EQ(answer(kChown32, {kPath, 0xffff, 0x5'0006}, Abi::kI386), "ok");
  EXPECT_EQ(performed(), "file 65535:327686");
  EXPECT_EQ(answer(kFchownat, {kAtCwd, kPath, 0xffff, 0xffffffff, 0}, Abi::kI386), "ok");
  EXPECT_EQ(performed(), "file 65535:-");
}

TEST_F(ChownTest, BadArgumentsAreTheKernelsErrors) {
  EXPECT_EQ(answer(kFchownat, {99, 0x1, 5, 6, 0x400}), "EINVAL");
  EXPECT_EQ(answer(kChown, {0x1, 5, 6}), "EFAULT");
  EXPECT_EQ(answer(kChown, {kEmpty, 5, 6}), "ENOENT");
  EXPECT_EQ(answer(kFchown, {6, 5, 6}), "EBADF") << "of O_PATH";
  EXPECT_EQ(answer(kFchown, {7, 5, 6}), "EBADF");
  EXPECT_EQ(answer(kFchownat, {7, kPath, 5, 6, 0}), "EBADF");
  EXPECT_EQ(answer(kFchownat, {7, kEmpty, 5, 6, AT_EMPTY_PATH}), "EBADF");
  EXPECT_THAT(own_, IsEmpty());
}

TEST_F(ChownTest, WhoMayNotIsTheKernels) {
  target_.caller.effective_capabilities = ~(1ULL << CAP_CHOWN);
  EXPECT_EQ(answer(kChown, {kPath, 5, 6}), "continue");
  target_.caller.effective_capabilities = ~0ULL;
  target_.in_sandbox = false;
  EXPECT_EQ(answer(kChown, {kPath, 5, 6}), "continue");
  target_.in_sandbox = true;
  sandbox_.own_user_namespace = false;
  EXPECT_EQ(answer(kChown, {kPath, 5, 6}), "continue");
  EXPECT_THAT(own_, IsEmpty());
}

TEST_F(ChownTest, TheHelpersErrnoIsTheCallers) {
  helper_.host.failure = ENOSPC;
  EXPECT_EQ(answer(kChown, {kPath, 5, 6}), "ENOSPC");
  EXPECT_EQ(emulator_->perform(Step{}, helper_.host).error().value, EINVAL);
}

TEST_F(ChownTest, NothingIsChangedBeforeEverythingIsChecked) {
  for (const Look look : {Look::kReadString, Look::kCredentials, Look::kUserNamespace, Look::kRoot,
                          Look::kWorkingDirectory}) {
    target_.fail(look, ESRCH);
    EXPECT_EQ(answer(kChown, {kPath, 5, 6}), "ESRCH") << static_cast<int>(look);
    target_.fail(look, 0);
  }
  EXPECT_THAT(own_, IsEmpty());
}

TEST(ChownRow, NeedsNothingToPretend) {
  const auto made = chown_row().make({{"mode", std::string("pretend")}});
  ASSERT_TRUE(made);
  const Rights further = (*made)->further_rights();
  EXPECT_EQ(further.needs, Needs::kRegisters);
  EXPECT_EQ(further.capabilities | further.host_capabilities, 0U);
  EXPECT_FALSE(chown_row().fixed({{"mode", std::string("perform")}}, kChown));
}

}  // namespace
}  // namespace sidecall::emulators
