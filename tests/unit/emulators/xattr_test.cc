#include "emulators/xattr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/xattr.h>

#include "support/fake_actor.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"

namespace sidecall::emulators {
namespace {

using support::Look;
using testing::ElementsAre;
using testing::IsEmpty;

// Indices into the row's members.
enum : unsigned { kSet, kSetLink, kSetFd, kRemove, kRemoveLink, kRemoveFd, kGet, kGetLink, kGetFd };
enum : unsigned { kList = 9, kListLink, kListFd };

constexpr std::uint64_t kPath = 0x7000;
constexpr std::uint64_t kName = 0x8000;
constexpr std::uint64_t kValue = 0x9000;
constexpr std::uint64_t kBuffer = 0xa000;
constexpr std::uint64_t kNowhere = 0xf000;
constexpr std::uint64_t kGarbage = 0xdead'beef'0000'0000;
constexpr const char* kOpaque = "trusted.overlay.opaque";
const std::pair<std::string, std::string> kKey = {"file", kOpaque};

class XattrTest : public testing::Test {
 protected:
  XattrTest() {
    choose(true);
    target_.map_string(kPath, "file");
    target_.map_string(kName, kOpaque);
    target_.map(kValue, "value");
    target_.map(kBuffer, std::string(100, '-'));
    actor_.files.own_attributes.hides_trusted = true;
  }
  void choose(bool reads) {
    auto made = xattr_row().make(
        {{"names", std::vector<std::string>{"trusted.overlay.*", "security.listed"}},
         {"reads", reads}});
    ASSERT_TRUE(made) << made.error().message;
    emulator_ = std::move(*made);
    helper_.emulator = emulator_.get();
  }
  // "continue", "ok 5" or an errno's name.
  std::string answer(unsigned member, const std::array<std::uint64_t, 6>& args) {
    Environment environment{.target = target_,
                            .sandbox = sandbox_,
                            .actor = &actor_,
                            .helper = &helper_,
                            .instance = 4};
    const Outcome outcome = emulator_->emulate({.member = member, .args = args}, environment);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (std::holds_alternative<Continue>(*outcome)) return "continue";
    if (const auto* value = std::get_if<Value>(&*outcome)) {
      return "ok " + std::to_string(value->value);
    }
    return errno_name(std::get<Errno>(*outcome).value);
  }
  std::string set(std::uint64_t flags = 0) {
    return answer(kSet, {kPath, kName, kValue, 5, flags});
  }
  std::string set_named(std::string_view name) {
    target_.map_string(kName, name);
    return set();
  }

  std::unique_ptr<Emulator> emulator_;
  support::FakeTarget target_;
  support::FakeActor actor_;
  support::FakeHelper helper_;
  support::FakeSandbox sandbox_;
  support::FakeAttributes& own_ = actor_.files.own_attributes;
  support::FakeAttributes& host_ = helper_.host.own_attributes;
};

TEST_F(XattrTest, SetsWhatTheKernelRefusesTheCaller) {
  EXPECT_EQ(set(XATTR_CREATE), "ok 0");
  EXPECT_THAT(own_.asked, ElementsAre("set file trusted.overlay.opaque 1"))
      << "first as the caller";
  EXPECT_THAT(host_.asked, ElementsAre("set file trusted.overlay.opaque 1"));
  EXPECT_EQ(host_.values.at(kKey), "value");
  EXPECT_THAT(helper_.instances, ElementsAre(4));
  EXPECT_FALSE(target_.anything_read_twice());
  ASSERT_EQ(actor_.views.size(), 1U);
  EXPECT_EQ(actor_.views[0].base, "cwd");
  EXPECT_EQ(actor_.views[0].lent, 0U);
}

TEST_F(XattrTest, WhatTheKernelAnswersTheCallerStands) {
  own_.hides_trusted = false;
  EXPECT_EQ(set(), "ok 0");
  for (const int number : {EROFS, EOPNOTSUPP, EACCES, ENOSPC, ENODATA}) {
    own_.failure = number;
    EXPECT_EQ(set(), errno_name(number));
  }
  EXPECT_THAT(helper_.instances, IsEmpty());
}

TEST_F(XattrTest, APathThatCannotBeWalkedIsNotTheHelpersBusiness) {
  for (const int number : {ENOENT, EACCES, EPERM}) {
    actor_.files.open_failure = number;
    EXPECT_EQ(set(), errno_name(number));
  }
  EXPECT_THAT(helper_.instances, IsEmpty());
}

TEST_F(XattrTest, RemovesAndPassesOnTheHelpersErrno) {
  host_.values[kKey] = "x";
  EXPECT_EQ(answer(kRemove, {kPath, kName}), "ok 0");
  EXPECT_THAT(host_.values, IsEmpty());
  EXPECT_EQ(answer(kRemoveLink, {kPath, kName}), "ENODATA");
  host_.failure = EEXIST;
  EXPECT_EQ(set(XATTR_CREATE), "EEXIST");
}

TEST_F(XattrTest, TakesADescriptorAsOne) {
  target_.descriptors = {{5, "five"}, {6, "six"}};
  target_.path_descriptors = {6};
  EXPECT_EQ(answer(kSetFd, {kGarbage | 5, kName, kValue, 5, kGarbage}), "ok 0");
  EXPECT_THAT(host_.asked, ElementsAre("set five trusted.overlay.opaque 0"));
  for (const unsigned member : {kSetFd, kRemoveFd, kGetFd}) {
    EXPECT_EQ(answer(member, {6, kName, kValue, 5, 0}), "EBADF") << "of O_PATH";
    EXPECT_EQ(answer(member, {7, kName, kValue, 5, 0}), "EBADF");
    EXPECT_EQ(answer(member, {~0ULL, kName, kValue, 5, 0}), "EBADF");
  }
  EXPECT_EQ(answer(kListFd, {6, kBuffer, 100}), "EBADF");
}

// Each argument is looked at in its turn, as in the kernel, and the first fault tells.
TEST_F(XattrTest, LooksAtArgumentsInTheKernelsOrder) {
  const std::uint64_t at = kNowhere;
  EXPECT_EQ(answer(kSet, {at, at, at, 70'000, 4}), "EINVAL");
  EXPECT_EQ(answer(kSet, {at, at, at, 70'000, kGarbage | 3}), "EFAULT") << "name";
  EXPECT_EQ(answer(kSet, {at, kName, at, 65'537, 0}), "E2BIG");
  EXPECT_EQ(answer(kSet, {at, kName, at, ~0ULL, 0}), "E2BIG");
  EXPECT_EQ(answer(kSet, {at, kName, at, 65'536, 0}), "EFAULT") << "value";
  EXPECT_EQ(answer(kSet, {at, kName, kValue, 5, 0}), "EFAULT") << "path";
  EXPECT_EQ(answer(kSetFd, {77, kName, at, 1, 0}), "EFAULT") << "value before descriptor";
  target_.map_string(kPath, "");
  EXPECT_EQ(set(), "ENOENT");
  EXPECT_EQ(set_named(""), "ERANGE");
  EXPECT_EQ(set_named("trusted.overlay." + std::string(240, 'n')), "ERANGE");
  target_.map_string(kPath, "file");
  EXPECT_EQ(set_named("trusted.overlay." + std::string(239, 'n')), "ok 0");
}

TEST_F(XattrTest, NoSizeIsNoValue) {
  EXPECT_EQ(answer(kSet, {kPath, kName, kNowhere, 0, 0}), "ok 0");
  EXPECT_EQ(host_.values.at(kKey), "");
}

TEST_F(XattrTest, CarriesTheLargestValue) {
  const std::string largest(65'536, 'v');
  target_.map(0x100000, largest);
  EXPECT_EQ(answer(kSet, {kPath, kName, 0x100000, largest.size(), 0}), "ok 0");
  EXPECT_EQ(host_.values.at(kKey), largest);
}

TEST_F(XattrTest, WhatIsNotListedIsTheKernels) {
  for (const char* name : {"user.a", "trusted.other", "security.other", "security.capability"}) {
    EXPECT_EQ(set_named(name), "continue") << name;
    EXPECT_EQ(answer(kRemove, {kPath, kName}), "continue") << name;
    EXPECT_EQ(answer(kGet, {kPath, kName, kBuffer, 100}), "continue") << name;
  }
  EXPECT_EQ(target_.looks(Look::kCredentials), 0);
}

TEST_F(XattrTest, WhoMayNotIsTheKernels) {
  const auto all_are_left = [&] {
    EXPECT_EQ(set(), "continue");
    EXPECT_EQ(answer(kRemove, {kPath, kName}), "continue");
    EXPECT_EQ(answer(kGet, {kPath, kName, kBuffer, 100}), "continue");
    EXPECT_EQ(answer(kList, {kPath, kBuffer, 100}), "continue");
  };
  target_.caller.effective_capabilities = ~(1ULL << CAP_SYS_ADMIN);
  all_are_left();
  target_.caller.effective_capabilities = ~0ULL;
  target_.in_sandbox = false;
  all_are_left();
  target_.in_sandbox = true;
  sandbox_.own_user_namespace = false;
  all_are_left();
  EXPECT_THAT(actor_.views, IsEmpty());
}

TEST_F(XattrTest, ReadsWhatTheKernelHides) {
  host_.values[kKey] = "value";
  EXPECT_EQ(answer(kGet, {kPath, kName, kBuffer, 100}), "ok 5");
  EXPECT_EQ(target_.bytes_at(kBuffer, 6), "value-") << "and nothing behind it";
  EXPECT_EQ(answer(kGet, {kPath, kName, kNowhere, 0}), "ok 5");
  EXPECT_EQ(answer(kGet, {kPath, kName, kBuffer, 4}), "ERANGE");
  EXPECT_EQ(answer(kGet, {kPath, kName, kNowhere, 5}), "EFAULT");
  host_.values[kKey] = "";
  EXPECT_EQ(answer(kGet, {kPath, kName, kNowhere, 5}), "ok 0");
  host_.values.clear();
  EXPECT_EQ(answer(kGet, {kPath, kName, kBuffer, 100}), "ENODATA");
  EXPECT_EQ(set_named("security.listed"), "ok 0");
  EXPECT_EQ(answer(kGet, {kPath, kName, kBuffer, 100}), "continue") << "which anybody may";
}

TEST_F(XattrTest, ListsWhatIsListed) {
  own_.values[{"file", "user.a"}] = "";
  host_.values = {{{"file", "user.a"}, ""},
                  {{"file", "security.z"}, ""},
                  {kKey, ""},
                  {{"file", "trusted.other"}, ""}};
  const std::string wanted("security.z\0trusted.overlay.opaque\0user.a\0", 41);
  EXPECT_EQ(answer(kList, {kPath, kBuffer, 100}), "ok 41");
  EXPECT_EQ(target_.bytes_at(kBuffer, 41), wanted);
  EXPECT_EQ(answer(kListLink, {kPath, kNowhere, 0}), "ok 41");
  EXPECT_EQ(answer(kList, {kPath, kBuffer, 40}), "ERANGE");
  EXPECT_EQ(answer(kList, {kPath, kNowhere, 41}), "EFAULT");
  own_.failure = EACCES;
  EXPECT_EQ(answer(kList, {kPath, kBuffer, 100}), "EACCES") << "the caller's own stands";
}

// Of another's file the caller sees what it would see without sidecall.
TEST_F(XattrTest, ShowsNothingOfFilesThatTheHelperRefuses) {
  host_.values[kKey] = "secret";
  host_.failure = EPERM;
  own_.values[{"file", "user.a"}] = "";
  EXPECT_EQ(answer(kGet, {kPath, kName, kBuffer, 100}), "ENODATA");
  EXPECT_EQ(answer(kList, {kPath, kBuffer, 100}), "ok 7");
  EXPECT_EQ(set(), "EPERM");
}

// A worker that has been taken over gains nothing that the policy does not list.
TEST_F(XattrTest, TheHelperChecksThePolicyItself) {
  const auto perform = [&](std::uint64_t action, const std::string& name) {
    Step step;
    step.numbers = {action, 0};
    step.texts = {name, "value"};
    step.fds.push_back(support::named_fd("file"));
    const auto performed = emulator_->perform(step, helper_.host);
    return performed ? "ok" : errno_name(performed.error().value);
  };
  constexpr std::uint64_t kSets = 0;
  constexpr std::uint64_t kRemoves = 1;
  constexpr std::uint64_t kGets = 2;
  constexpr std::uint64_t kLists = 3;
  EXPECT_EQ(perform(kSets, kOpaque), "ok");
  for (const std::uint64_t action : {kSets, kRemoves, kGets}) {
    EXPECT_EQ(perform(action, "trusted.other"), "EPERM");
    EXPECT_EQ(perform(action, "security.capability"), "EPERM");
    EXPECT_EQ(perform(action, std::string("security.listed\0", 16)), "EPERM");
  }
  EXPECT_EQ(perform(4, kOpaque), "EINVAL");
  EXPECT_EQ(emulator_->perform(Step{}, helper_.host).error().value, EINVAL);
  choose(false);
  EXPECT_EQ(perform(kGets, kOpaque), "EPERM");
  EXPECT_EQ(perform(kLists, ""), "EPERM");
  EXPECT_EQ(perform(kRemoves, kOpaque), "ok");
}

TEST_F(XattrTest, NothingIsSetBeforeEverythingIsChecked) {
  for (const Look look : {Look::kRead, Look::kReadString, Look::kCredentials, Look::kUserNamespace,
                          Look::kRoot, Look::kWorkingDirectory}) {
    target_.fail(look, ESRCH);
    EXPECT_EQ(set(), "ESRCH") << static_cast<int>(look);
    target_.fail(look, 0);
  }
  EXPECT_THAT(own_.asked, IsEmpty());
  EXPECT_THAT(host_.asked, IsEmpty());
}

TEST(XattrRow, ServesReadingCallsOnRequest) {
  const Row row = xattr_row();
  const Options reading = {{"reads", true}};
  for (std::size_t member = 0; member < row.members.size(); ++member) {
    const std::string_view name = row.members[member].syscall;
    const bool reads = name.find("get") != name.npos || name.find("list") != name.npos;
    EXPECT_EQ(row.serves({}, member), !reads) << name;
    EXPECT_TRUE(row.serves(reading, member)) << name;
  }
}

TEST(XattrRow, LeavesFlagsThatTheKernelDoesNotKnow) {
  const Row row = xattr_row();
  for (const unsigned member : {kSet, kSetLink, kSetFd}) {
    for (const std::uint64_t flags : {0U, 1U, 2U, 3U}) {
      EXPECT_TRUE(hold(row.members[member].notify[0], {0, 0, 0, 0, kGarbage | flags}));
    }
    for (const std::uint64_t flags : {4U, 7U, 0x80000000U}) {
      EXPECT_FALSE(hold(row.members[member].notify[0], {0, 0, 0, 0, flags})) << flags;
    }
  }
}

TEST(XattrRow, NamesABadEntry) {
  const auto made = xattr_row().make({{"names", std::vector<std::string>{"user.a"}}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::StartsWith("names: \"user.a\""));
}

}  // namespace
}  // namespace sidecall::emulators
