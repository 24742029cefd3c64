#include "worker/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/capability.h>

namespace sidecall::worker {
namespace {

using emulators::Compare;
using emulators::Conditions;
using emulators::Program;
using emulators::Rule;
using kernel::Abi;
using testing::AllOf;
using testing::HasSubstr;

Rule value_rule(std::int64_t number, Conditions when = {}) {
  return {.when = std::move(when), .action = Rule::Action::kValue, .number = number};
}
Rule emulate_rule(std::uint32_t instance, std::uint32_t member) {
  return {.when = {}, .action = Rule::Action::kEmulate, .instance = instance, .member = member};
}

Dispatcher build(Program program) {
  auto dispatcher = Dispatcher::build(std::move(program));
  EXPECT_TRUE(dispatcher) << dispatcher.error().message;
  return std::move(*dispatcher);
}

Program with_routes(std::vector<emulators::Route> routes) {
  Program program;
  program.routes = std::move(routes);
  return program;
}

kernel::Notification call(std::uint32_t arch, std::int32_t nr, std::uint64_t first_arg = 0) {
  return {.arch = arch, .nr = nr, .args = {first_arg}};
}

TEST(Dispatcher, TheFirstRuleThatMatchesWins) {
  const Dispatcher dispatcher = build(
      with_routes({{.abi = Abi::kX86_64,
                    .nr = 10,
                    .name = "a",
                    .rules = {value_rule(1, {{.index = 0, .op = Compare::kLess, .value = 5}}),
                              value_rule(2, {{.index = 0, .op = Compare::kLess, .value = 10}}),
                              value_rule(3)}}}));
  for (const auto& [arg, number] : {std::pair{4U, 1}, {5U, 2}, {9U, 2}, {10U, 3}}) {
    const Decision decision = dispatcher.decide(call(AUDIT_ARCH_X86_64, 10, arg));
    EXPECT_EQ(decision.action, Rule::Action::kValue);
    EXPECT_EQ(decision.number, number) << arg;
    EXPECT_EQ(decision.route, 0U);
  }
}

TEST(Dispatcher, WithoutARuleThatMatchesTheKernelDecides) {
  const Dispatcher dispatcher = build(with_routes(
      {{.abi = Abi::kX86_64, .nr = 10, .name = "a", .rules = {value_rule(1, {{.value = 7}})}}}));
  const Decision decision = dispatcher.decide(call(AUDIT_ARCH_X86_64, 10, 8));
  EXPECT_EQ(decision.action, Rule::Action::kContinue);
  EXPECT_EQ(decision.emulator, nullptr);
  EXPECT_EQ(decision.route, 0U) << "it is counted all the same";
}

TEST(Dispatcher, WhatTheProgramDoesNotNameIsTheKernels) {
  const Dispatcher dispatcher =
      build(with_routes({{.abi = Abi::kX86_64, .nr = 10, .name = "a", .rules = {value_rule(1)}}}));
  for (const std::int32_t nr : {0, 9, 11, 4095}) {
    const Decision decision = dispatcher.decide(call(AUDIT_ARCH_X86_64, nr));
    EXPECT_EQ(decision.action, Rule::Action::kContinue) << nr;
    EXPECT_EQ(decision.route, Decision::kNoRoute) << nr;
  }
}

TEST(Dispatcher, TheSameNumberOfAnotherAbiIsAnotherCall) {
  const Dispatcher dispatcher =
      build(with_routes({{.abi = Abi::kI386, .nr = 10, .name = "a", .rules = {value_rule(32)}},
                         {.abi = Abi::kX86_64, .nr = 10, .name = "b", .rules = {value_rule(64)}}}));
  EXPECT_EQ(dispatcher.decide(call(AUDIT_ARCH_I386, 10)).number, 32);
  EXPECT_EQ(dispatcher.decide(call(AUDIT_ARCH_I386, 10)).route, 0U);
  EXPECT_EQ(dispatcher.decide(call(AUDIT_ARCH_X86_64, 10)).number, 64);
  EXPECT_EQ(dispatcher.decide(call(AUDIT_ARCH_X86_64, 10)).route, 1U);
  EXPECT_EQ(dispatcher.decide(call(AUDIT_ARCH_AARCH64, 10)).route, Decision::kNoRoute);
}

TEST(Dispatcher, ForeignCallsAreRefusedWithEnosys) {
  const Dispatcher dispatcher =
      build(with_routes({{.abi = Abi::kX86_64, .nr = 10, .name = "a", .rules = {value_rule(1)}}}));
  constexpr std::int32_t kX32 = 0x4000'0000;
  for (const auto& foreign : {call(AUDIT_ARCH_ARM, 10), call(0, 10), call(AUDIT_ARCH_X86_64, -1),
                              call(AUDIT_ARCH_X86_64, kX32 | 10), call(AUDIT_ARCH_X86_64, 4096),
                              call(AUDIT_ARCH_X86_64, std::numeric_limits<std::int32_t>::min())}) {
    const Decision decision = dispatcher.decide(foreign);
    EXPECT_EQ(decision.action, Rule::Action::kErrno) << foreign.arch << " " << foreign.nr;
    EXPECT_EQ(decision.number, ENOSYS);
    EXPECT_EQ(decision.emulator, nullptr);
    EXPECT_EQ(decision.route, Decision::kNoRoute);
  }
}

Program two_emulators() {
  Program program;
  program.instances.push_back({.emulator = "mknod", .options = {}});
  program.instances.push_back({.emulator = "sysinfo", .options = {}});
  program.routes.push_back(
      {.abi = Abi::kX86_64, .nr = 99, .name = "sysinfo", .rules = {emulate_rule(1, 0)}});
  program.routes.push_back(
      {.abi = Abi::kI386, .nr = 297, .name = "mknodat", .rules = {emulate_rule(0, 1)}});
  return program;
}

TEST(Dispatcher, AnEmulatorIsGivenTheDecodedCall) {
  const Dispatcher dispatcher = build(two_emulators());
  const Decision mknodat = dispatcher.decide(call(AUDIT_ARCH_I386, 297, 42));
  ASSERT_NE(mknodat.emulator, nullptr);
  EXPECT_EQ(mknodat.action, Rule::Action::kEmulate);
  EXPECT_EQ(mknodat.needs, emulators::Needs::kFiles);
  EXPECT_EQ(mknodat.call.abi, Abi::kI386);
  EXPECT_EQ(mknodat.call.member, 1U);
  EXPECT_EQ(mknodat.call.args[0], 42U);
  const Decision sysinfo = dispatcher.decide(call(AUDIT_ARCH_X86_64, 99));
  ASSERT_NE(sysinfo.emulator, nullptr);
  EXPECT_EQ(sysinfo.needs, emulators::Needs::kMemory);
  EXPECT_NE(sysinfo.emulator, mknodat.emulator);
}

TEST(Dispatcher, OptionsMayNeedMoreThanTheRow) {
  const auto clock = [](const std::string& mode) {
    Program program;
    program.instances.push_back({.emulator = "clock", .options = {{"mode", mode}}});
    program.routes.push_back(
        {.abi = Abi::kX86_64, .nr = 227, .name = "clock_settime", .rules = {emulate_rule(0, 0)}});
    return build(program);
  };
  const Dispatcher pretending = clock("pretend");
  EXPECT_EQ(pretending.decide(call(AUDIT_ARCH_X86_64, 227)).needs, emulators::Needs::kMemory);
  EXPECT_EQ(pretending.rights(true).host_capabilities, 0U);
  const Dispatcher performing = clock("perform");
  EXPECT_EQ(performing.decide(call(AUDIT_ARCH_X86_64, 227)).needs, emulators::Needs::kFiles);
  EXPECT_EQ(performing.rights(false).host_capabilities, 1ULL << CAP_SYS_TIME);
  EXPECT_TRUE(performing.needs_targets());
}

TEST(Dispatcher, CapabilitiesAreTheUnionOfTheEmulators) {
  EXPECT_EQ(build({}).rights(true).capabilities, 0U);

  Program uname;
  uname.instances.push_back({.emulator = "uname", .options = {}});
  EXPECT_EQ(build(uname).rights(true).capabilities,
            emulators::find_row("uname")->rights.capabilities);

  const auto& mknod = *emulators::find_row("mknod");
  const auto& sysinfo = *emulators::find_row("sysinfo");
  const Dispatcher both = build(two_emulators());
  EXPECT_EQ(both.rights(true).capabilities,
            mknod.rights.capabilities | sysinfo.rights.capabilities);
}

TEST(Dispatcher, AmongTheHostsUsersOnlyWhatIsServedThereHasRights) {
  Program program = two_emulators();
  program.instances.push_back({.emulator = "mount", .options = {}});
  program.instances.push_back(
      {.emulator = "mknod",
       .options = {{"devices", std::vector<std::string>{"c 1:3"}}, {"bind", true}}});
  const Dispatcher dispatcher = build(program);
  EXPECT_TRUE(dispatcher.rights(true).makes_mounts);
  EXPECT_NE(dispatcher.rights(true).host_capabilities >> CAP_SYS_ADMIN & 1U, 0U);
  const emulators::Rights& among_host_users = dispatcher.rights(false);
  EXPECT_FALSE(among_host_users.makes_mounts);
  EXPECT_EQ(among_host_users.capabilities, build(two_emulators()).rights(true).capabilities);
  EXPECT_EQ(among_host_users.host_capabilities,
            emulators::find_row("mknod")->rights.host_capabilities);
}

TEST(Dispatcher, SaysWhetherAnyEmulatorLooksAtItsCaller) {
  EXPECT_FALSE(build({}).needs_targets());
  EXPECT_TRUE(build(two_emulators()).needs_targets());
}

std::string refusal(Program program) {
  const auto dispatcher = Dispatcher::build(std::move(program));
  return dispatcher ? "" : dispatcher.error().message;
}

TEST(Dispatcher, AnEmulatorThatDoesNotExistIsNamed) {
  Program program;
  program.instances.push_back({.emulator = "mknood", .options = {}});
  EXPECT_THAT(refusal(program), HasSubstr("no emulator \"mknood\""));
}

TEST(Dispatcher, AnOptionThatAnEmulatorRefusesIsNamed) {
  Program program;
  program.instances.push_back({.emulator = "uname", .options = {{"release", std::string()}}});
  EXPECT_THAT(refusal(program), AllOf(HasSubstr("emulator uname"), HasSubstr("release")));
}

TEST(Dispatcher, NumbersOutOfRangeAreRefused) {
  for (const std::int32_t nr : {-1, 4096, 0x4000'0000}) {
    EXPECT_THAT(refusal(with_routes({{.abi = Abi::kX86_64, .nr = nr, .name = "odd", .rules = {}}})),
                HasSubstr("syscall odd is out of range"))
        << nr;
  }
}

TEST(Dispatcher, TwoRoutesOfOneCallAreRefused) {
  EXPECT_THAT(refusal(with_routes({{.abi = Abi::kX86_64, .nr = 10, .name = "a", .rules = {}},
                                   {.abi = Abi::kX86_64, .nr = 10, .name = "a", .rules = {}}})),
              HasSubstr("syscall a"));
}

TEST(Dispatcher, ARuleOfAnInstanceOrMemberThatDoesNotExistIsRefused) {
  Program instance = two_emulators();
  instance.routes[0].rules[0].instance = 2;
  EXPECT_THAT(refusal(instance), HasSubstr("syscall sysinfo"));
  Program member = two_emulators();
  member.routes[1].rules[0].member = 2;
  EXPECT_THAT(refusal(member), HasSubstr("syscall mknodat"));
}

}  // namespace
}  // namespace sidecall::worker
