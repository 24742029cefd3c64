#include "emulators/uname.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "support/fake_sandbox.h"
#include "support/fake_target.h"

namespace sidecall::emulators {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kAddress = 0x7000;

using Field = char[65];  // NOLINT: as utsname has it

// All of the field: what is past the text is zero.
void put(Field& field, std::string_view text) {
  std::memset(field, 0, sizeof field);
  text.copy(field, sizeof field - 1);
}

class UnameTest : public testing::Test {
 protected:
  UnameTest() {
    put(target_.names.sysname, "Linux");
    put(target_.names.nodename, "a-node-with-a-long-name");
    put(target_.names.release, "6.18.0-of-the-host");
    put(target_.names.version, "#1 SMP");
    put(target_.names.machine, "x86_64");
    put(target_.names.domainname, "example");  // NOLINT: GNU name of the field
    target_.map(kAddress, std::string(sizeof(utsname), '\xee'));
  }

  Outcome emulate(const Options& options, std::uint64_t address = kAddress, unsigned member = 0) {
    const auto emulator = uname_row().make(options);
    EXPECT_TRUE(emulator) << emulator.error().message;
    Environment environment{.target = target_, .sandbox = sandbox_};
    return (*emulator)->emulate({.member = member, .args = {address}}, environment);
  }
  utsname told(const Options& options) {
    const Outcome outcome = emulate(options);
    EXPECT_TRUE(outcome && std::holds_alternative<Value>(*outcome));
    utsname names{};
    const std::string bytes = target_.bytes_at(kAddress, sizeof names);
    std::memcpy(&names, bytes.data(), sizeof names);
    return names;
  }

  support::FakeTarget target_;
  support::FakeSandbox sandbox_;
};

TEST_F(UnameTest, WithoutOptionsItIsTheCallersOwn) {
  const utsname names = told({});
  EXPECT_EQ(std::memcmp(&names, &target_.names, sizeof names), 0);
}

TEST_F(UnameTest, EachOptionReplacesItsFieldAndNoOther) {
  struct Case {
    const char* option;
    Field utsname::*field;
  };
  for (const Case& each :
       {Case{"release", &utsname::release}, Case{"version", &utsname::version},
        Case{"nodename", &utsname::nodename}, Case{"domainname", &utsname::domainname}}) {
    const utsname names = told({{each.option, std::string("new")}});
    utsname expected = target_.names;
    put(expected.*each.field, "new");
    EXPECT_EQ(std::memcmp(&names, &expected, sizeof names), 0) << each.option;
  }
}

TEST_F(UnameTest, TheLongestValueStillHasItsNul) {
  const std::string longest(64, 'r');
  const utsname names = told({{"release", longest}});
  EXPECT_EQ(std::string(names.release), longest);
  EXPECT_STREQ(names.version, "#1 SMP");
}

// The policy's kernel is the one that the personality changes.
TEST_F(UnameTest, TheCallersPersonalityChangesWhatThePolicySays) {
  target_.persona = 0x0020008;  // UNAME26, PER_LINUX32
  EXPECT_STREQ(told({}).release, "2.6.78-of-the-host");
  EXPECT_STREQ(told({{"release", std::string("5.10.0-1")}}).release, "2.6.70-1");
  EXPECT_STREQ(told({}).machine, "i686");
}

TEST_F(UnameTest, EachMemberHasItsLayout) {
  const Options options = {{"release", std::string("5.10.0-sidecall")}};
  for (const auto& [member, length, release_at] :
       {std::tuple(1U, 325U, 130U), std::tuple(2U, 45U, 18U)}) {
    target_.map(kAddress, std::string(sizeof(utsname), '\xee'));
    const Outcome outcome = emulate(options, kAddress, member);
    ASSERT_TRUE(outcome && std::holds_alternative<Value>(*outcome));
    EXPECT_EQ(target_.bytes_at(kAddress + release_at, 8), "5.10.0-s");
    EXPECT_EQ(target_.bytes_at(kAddress + length - 1, 2), std::string("\0\xee", 2)) << member;
  }
}

TEST_F(UnameTest, ABufferThatCannotBeWrittenIsEfault) {
  target_.map(0x9000, std::string(sizeof(utsname) - 1, '\0'));
  for (const std::uint64_t address : {0x0U, 0x9000U}) {
    const Outcome outcome = emulate({}, address);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(std::get<Errno>(*outcome).value, EFAULT);
  }
}

TEST_F(UnameTest, ACallerThatHasGoneIsToldAsSuch) {
  for (const support::Look look : {support::Look::kUts, support::Look::kPersonality}) {
    target_.fail(look, ESRCH);
    const Outcome outcome = emulate({{"release", std::string("new")}});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(std::get<Errno>(*outcome).value, ESRCH);
    target_.fail(look, 0);
  }
  EXPECT_EQ(target_.looks(support::Look::kWrite), 0);
}

TEST(UnameOptions, ValuesThatDoNotFitAreRefusedByName) {
  for (const std::string option : {"release", "version", "nodename", "domainname"}) {
    for (const std::string& value : {std::string(), std::string(65, 'x'), std::string("a\0b", 3)}) {
      const auto made = uname_row().make({{option, value}});
      ASSERT_FALSE(made) << option << " " << value.size();
      EXPECT_THAT(made.error().message, HasSubstr(option + " must have 1 to 64 bytes"));
    }
  }
}

}  // namespace
}  // namespace sidecall::emulators
