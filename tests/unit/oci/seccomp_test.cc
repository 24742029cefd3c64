#include "oci/seccomp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "oci/seccomp_json.h"

namespace sidecall::oci {
namespace {

using emulators::Compare;
using emulators::Condition;
using testing::ElementsAre;
using testing::HasSubstr;

SeccompProfile parsed(std::string_view json, const ProfileContext& context = {}) {
  auto profile = parse_profile(json, context);
  if (!profile) {
    ADD_FAILURE() << profile.error().message;
    return {};
  }
  return *std::move(profile);
}

std::string error_of(std::string_view json) {
  const auto profile = parse_profile(json, {});
  return profile ? "" : profile.error().message;
}

ProfileContext on(std::string architecture) {
  return {.capabilities = {}, .architecture = std::move(architecture)};
}

// The names of the rules that stand, one per rule.
std::vector<std::string> standing(std::string_view includes, std::string_view excludes,
                                  const ProfileContext& context) {
  const auto profile =
      parsed(R"({"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["x"],)"
             R"("action":"SCMP_ACT_ALLOW","includes":)" +
                 std::string(includes) + R"(,"excludes":)" + std::string(excludes) + "}]}",
             context);
  std::vector<std::string> names;
  for (const auto& rule : profile.syscalls) names.push_back(rule.names.front());
  return names;
}
const auto kStands = ElementsAre("x");
const auto kFalls = testing::IsEmpty();

TEST(Profile, ReadsThePlainForm) {
  const auto profile = parsed(R"({
    "defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38,
    "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X32"],
    "flags": ["SECCOMP_FILTER_FLAG_LOG"],
    "listenerPath": "/l", "listenerMetadata": "m",
    "syscalls": [
      {"names": ["personality", "read"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1, "args": [
        {"index": 5, "value": 18446744073709551615, "valueTwo": 2, "op": "SCMP_CMP_MASKED_EQ"},
        {"index": 0, "value": 1, "op": "SCMP_CMP_NE"}]},
      {"names": ["write"], "action": "SCMP_ACT_ALLOW", "args": null}]})");
  EXPECT_EQ(profile.default_action, "SCMP_ACT_ERRNO");
  EXPECT_EQ(profile.default_errno_ret, 38U);
  EXPECT_THAT(profile.architectures, ElementsAre("SCMP_ARCH_X86_64", "SCMP_ARCH_X32"));
  EXPECT_THAT(profile.flags, ElementsAre("SECCOMP_FILTER_FLAG_LOG"));
  EXPECT_EQ(profile.listener_path, "/l");
  EXPECT_EQ(profile.listener_metadata, "m");
  ASSERT_EQ(profile.syscalls.size(), 2U);
  EXPECT_THAT(profile.syscalls[0].names, ElementsAre("personality", "read"));
  EXPECT_EQ(profile.syscalls[0].errno_ret, 1U);
  EXPECT_THAT(profile.syscalls[0].args,
              ElementsAre(Condition{5, Compare::kMaskedEqual, UINT64_MAX, 2},
                          Condition{0, Compare::kNotEqual, 1, 0}));
  EXPECT_EQ(profile.syscalls[1].errno_ret, std::nullopt);
}

TEST(Profile, PrintsWhatItReads) {
  const std::string text = R"({
  "defaultAction": "SCMP_ACT_TRACE",
  "defaultErrnoRet": 65535,
  "architectures": [
    "SCMP_ARCH_X86_64"
  ],
  "flags": [
    "F"
  ],
  "listenerPath": "/l",
  "listenerMetadata": "m",
  "syscalls": [
    {
      "names": [
        "read"
      ],
      "action": "SCMP_ACT_ERRNO",
      "errnoRet": 0,
      "args": [
        {
          "index": 1,
          "value": 18446744073709551615,
          "valueTwo": 3,
          "op": "SCMP_CMP_MASKED_EQ"
        }
      ]
    }
  ]
}
)";
  EXPECT_EQ(print_profile(parsed(text)), text);
}

TEST(Profile, ResolvesCapabilities) {
  const ProfileContext has{.capabilities = {"CAP_A", "CAP_B"}};
  EXPECT_THAT(standing(R"({"caps":["CAP_A"]})", "{}", has), kStands);
  EXPECT_THAT(standing(R"({"caps":["CAP_A","CAP_B"]})", "{}", has), kStands);
  EXPECT_THAT(standing(R"({"caps":["CAP_A","CAP_C"]})", "{}", has), kFalls);
  EXPECT_THAT(standing("{}", R"({"caps":["CAP_C"]})", has), kStands);
  EXPECT_THAT(standing("{}", R"({"caps":["CAP_C","CAP_A"]})", has), kFalls);
}

TEST(Profile, ResolvesArchitectures) {
  const ProfileContext arm = on("arm64");
  EXPECT_THAT(standing(R"({"arches":["arm","arm64"]})", "{}", arm), kStands);
  EXPECT_THAT(standing(R"({"arches":["amd64"]})", "{}", arm), kFalls);
  EXPECT_THAT(standing("null", R"({"arches":["amd64"]})", arm), kStands);
  EXPECT_THAT(standing("{}", R"({"arches":["arm64"]})", arm), kFalls);
  EXPECT_THAT(standing(R"({"arches":[]})", "null", arm), kStands);
}

TEST(Profile, ResolvesKernelVersions) {
  const ProfileContext kernel{.capabilities = {}, .kernel_major = 5, .kernel_minor = 9};
  for (const char* older : {"4.20", "5.8", "5.9"}) {
    const std::string since = R"({"minKernel":")" + std::string(older) + "\"}";
    EXPECT_THAT(standing(since, "{}", kernel), kStands) << older;
    EXPECT_THAT(standing("{}", since, kernel), kFalls) << older;
  }
  for (const char* newer : {"5.10", "6.0"}) {
    const std::string since = R"({"minKernel":")" + std::string(newer) + "\"}";
    EXPECT_THAT(standing(since, "{}", kernel), kFalls) << newer;
    EXPECT_THAT(standing("{}", since, kernel), kStands) << newer;
  }
}

TEST(Profile, TakesTheHostsEntryOfAnArchMap) {
  const std::string text = R"({"defaultAction": "SCMP_ACT_ALLOW", "archMap": [
    {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]},
    {"architecture": "SCMP_ARCH_S390X", "subArchitectures": null}]})";
  EXPECT_THAT(parsed(text).architectures,
              ElementsAre("SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"));
  EXPECT_THAT(parsed(text, on("s390x")).architectures, ElementsAre("SCMP_ARCH_S390X"));
  EXPECT_TRUE(parsed(text, on("arm64")).architectures.empty());
}

TEST(Profile, TakesErrorsByName) {
  const auto profile = parsed(R"({"defaultAction": "SCMP_ACT_ERRNO", "defaultErrno": "ENOSYS",
    "defaultErrnoRet": 1, "syscalls": [
      {"name": "x", "action": "SCMP_ACT_ERRNO", "errno": "EWOULDBLOCK"},
      {"names": ["y"], "action": "SCMP_ACT_ERRNO", "errno": "", "errnoRet": 22}]})");
  EXPECT_EQ(profile.default_errno_ret, 38U);
  EXPECT_EQ(profile.syscalls.at(0).errno_ret, 11U);
  EXPECT_EQ(profile.syscalls.at(1).errno_ret, 22U);
  EXPECT_EQ(errno_number("EPERM"), 1U);
  EXPECT_EQ(errno_number("ENOTHING"), std::nullopt);
  EXPECT_EQ(errno_number("0"), std::nullopt);
}

TEST(Profile, RefusesWhatItDoesNotUnderstand) {
  const auto with = [](std::string_view rule) {
    return R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[)" + std::string(rule) + "]}";
  };
  EXPECT_EQ(error_of("{}"), "$.defaultAction: missing");
  EXPECT_THAT(error_of(R"({"defaultAction":"allow"})"), HasSubstr("$.defaultAction: must be"));
  EXPECT_THAT(error_of(with(R"({"names":["x"],"action":"SCMP_ACT_FOO"})")),
              HasSubstr("$.syscalls[0].action: must be"));
  EXPECT_EQ(error_of(with(R"({"names":["x"]})")), "$.syscalls[0].action: missing");
  EXPECT_EQ(error_of(with(R"({"names":[],"action":"SCMP_ACT_LOG"})")),
            "$.syscalls[0]: names no system call");
  EXPECT_THAT(error_of(with(R"({"names":["x"],"name":"y","action":"SCMP_ACT_LOG"})")),
              HasSubstr("both"));
  EXPECT_EQ(error_of(with(R"({"names":["x"],"action":"SCMP_ACT_ERRNO","errnoRet":4096})")),
            "$.syscalls[0].errnoRet: more than 4095");
  EXPECT_EQ(error_of(with(R"({"names":["x"],"action":"SCMP_ACT_ERRNO","errno":"EFOO"})")),
            "$.syscalls[0].errno: unknown errno");
  EXPECT_EQ(error_of(with(R"({"names":["x"],"action":"SCMP_ACT_LOG","args":[
              {"index":6,"value":0,"op":"SCMP_CMP_EQ"}]})")),
            "$.syscalls[0].args[0].index: more than 5");
  EXPECT_THAT(error_of(with(R"({"names":["x"],"action":"SCMP_ACT_LOG","args":[
              {"index":0,"value":0,"op":"=="}]})")),
              HasSubstr("$.syscalls[0].args[0].op: must be"));
  EXPECT_THAT(error_of(with(R"({"names":["x"],"action":"SCMP_ACT_LOG",
              "includes":{"minKernel":"5"}})")),
              HasSubstr("$.syscalls[0].includes.minKernel: must be"));
  EXPECT_THAT(error_of(R"({"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_X86"],
              "archMap":[{"architecture":"SCMP_ARCH_X86"}]})"),
              HasSubstr("$.archMap: "));
}

// A rule that does not apply here is read all the same.
TEST(Profile, RefusesBadRulesOfOtherArchitectures) {
  EXPECT_EQ(error_of(R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[
              {"names":["x"],"action":"SCMP_ACT_LOG","includes":{"arches":["arm"]},
               "args":[{"index":9,"value":0,"op":"SCMP_CMP_EQ"}]}]})"),
            "$.syscalls[0].args[0].index: more than 5");
}

TEST(Profile, ReadsTheEnginesDefault) {
  const auto text = read_file("/usr/share/containers/seccomp.json");
  if (!text) GTEST_SKIP() << text.error().message;
  const auto count = [&](const ProfileContext& context, std::string_view name) {
    std::ptrdiff_t rules = 0;
    for (const auto& rule : parsed(*text, context).syscalls) {
      if (rule.action != "SCMP_ACT_ALLOW") continue;
      rules += std::count(rule.names.begin(), rule.names.end(), name);
    }
    return rules;
  };
  EXPECT_EQ(count({}, "read"), 1);
  EXPECT_EQ(count({}, "bpf"), 0);
  EXPECT_EQ(count({.capabilities = {"CAP_SYS_ADMIN"}}, "bpf"), 1);
  EXPECT_EQ(count({}, "arch_prctl"), 1);
  EXPECT_EQ(count(on("arm64"), "arch_prctl"), 0);
}

TEST(AllowAll, AllowsOnTheHostsArchitectures) {
  const auto profile = allow_all_profile();
  EXPECT_EQ(profile.default_action, "SCMP_ACT_ALLOW");
  EXPECT_EQ(profile.architectures.size(), 2U);
  EXPECT_TRUE(profile.syscalls.empty());
}

}  // namespace
}  // namespace sidecall::oci
