#include "oci/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::oci {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr std::string_view kBundle = R"({
    "ociVersion": "1.0.0",
    "zebra": {
        "kept": [
            1,
            -2,
            0.25,
            18446744073709551615
        ]
    },
    "process": {
        "args": [
            "/bin/<sh>"
        ],
        "capabilities": {
            "bounding": [
                "CAP_KILL",
                "CAP_CHOWN"
            ]
        }
    },
    "linux": {
        "resources": {},
        "seccomp": {
            "defaultAction": "SCMP_ACT_ERRNO",
            "newerThanWe": true,
            "syscalls": [
                {
                    "names": [
                        "read"
                    ],
                    "action": "SCMP_ACT_ALLOW",
                    "comment": "kept until it is edited"
                }
            ]
        },
        "namespaces": []
    }
})";
const Hook kHook{"/usr/bin/hook", {"hook", "poststop"}, {"A=b"}, 5};

Config parsed(std::string_view json) {
  auto config = Config::parse(json);
  if (!config) {
    ADD_FAILURE() << config.error().message;
    return *Config::parse("{}");
  }
  return *std::move(config);
}

std::string error_of(std::string_view json) {
  const auto config = Config::parse(json);
  return config ? "" : config.error().message;
}

TEST(Config, PrintsWhatItReadToTheByte) {
  EXPECT_EQ(parsed(kBundle).print(), kBundle);
  for (const std::string text :
       {"{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}\n", "{\n \"a\": [\n  1\n ]\n}", R"({"a":{"b":[]}})",
        "{\"a\":1}\n", "{}", "{\n  \"a\": \"\u00e9\"\n}"}) {
    EXPECT_EQ(parsed(text).print(), text);
  }
}

TEST(Config, ReadsWhatTheHookNeeds) {
  const Config config = parsed(kBundle);
  EXPECT_THAT(config.bounding_capabilities(), ElementsAre("CAP_KILL", "CAP_CHOWN"));
  EXPECT_TRUE(config.annotations().empty());
  const auto seccomp = config.seccomp();
  ASSERT_TRUE(seccomp && *seccomp);
  EXPECT_EQ((*seccomp)->default_action, "SCMP_ACT_ERRNO");
  EXPECT_THAT(parsed(R"({"annotations":{"b":"1","a":"2"}})").annotations(),
              ElementsAre(Pair("a", "2"), Pair("b", "1")));
}

TEST(Config, TakesNullForWhatIsNotThere) {
  Config config = parsed(R"({"annotations":null,"hooks":null,"linux":{"seccomp":null},)"
                         R"("process":{"capabilities":null}})");
  EXPECT_TRUE(config.annotations().empty());
  EXPECT_TRUE(config.bounding_capabilities().empty());
  const auto seccomp = config.seccomp();
  ASSERT_TRUE(seccomp) << seccomp.error().message;
  EXPECT_FALSE(*seccomp);
  EXPECT_EQ(config.seccomp_text(), "");
  config.add_hook("poststop", kHook);
  config.set_annotation("a", "b");
  EXPECT_THAT(config.print(), HasSubstr(R"("annotations":{"a":"b"},"hooks":{"poststop":[{)"));
}

TEST(Config, EditsAndUndoesToTheByte) {
  for (const std::string_view text : {kBundle, std::string_view("{\"ociVersion\":\"1.0.0\"}")}) {
    Config config = parsed(text);
    const std::string before = config.seccomp_text();
    config.set_annotation("dev.sidecall.policy", "default");
    config.add_hook("createRuntime", kHook);
    config.add_hook("poststop", kHook);
    config.set_seccomp(allow_all_profile());
    EXPECT_NE(config.print(), text);
    EXPECT_TRUE(Config::parse(config.print()));

    config.remove_hooks("createRuntime", kHook.path);
    config.remove_hooks("poststop", kHook.path);
    config.remove_annotation("dev.sidecall.policy");
    if (before.empty()) {
      config.remove_seccomp();
    } else {
      ASSERT_TRUE(config.set_seccomp_text(before));
    }
    EXPECT_EQ(config.print(), text);
  }
}

TEST(Config, KeepsThePlaceAndTheUnknownMembersOfSeccomp) {
  Config config = parsed(kBundle);
  SeccompProfile profile = allow_all_profile();
  profile.listener_path = "/l";
  config.set_seccomp(profile);
  const std::string text = config.print();
  EXPECT_THAT(text, HasSubstr("\"newerThanWe\": true"));
  EXPECT_LT(text.find("\"resources\""), text.find("\"seccomp\""));
  EXPECT_LT(text.find("\"seccomp\""), text.find("\"namespaces\""));
  EXPECT_EQ(text.find("\"syscalls\""), std::string::npos);
  const auto seccomp = config.seccomp();
  ASSERT_TRUE(seccomp && *seccomp);
  EXPECT_EQ((*seccomp)->listener_path, "/l");
  EXPECT_EQ((*seccomp)->default_action, "SCMP_ACT_ALLOW");
}

TEST(Config, AddsAHookOnceAndRemovesOnlyItsOwn) {
  Config config = parsed(R"({"hooks":{"prestart":[],"poststop":[{"path":"/other"}]}})");
  config.add_hook("poststop", kHook);
  config.add_hook("poststop", kHook);
  EXPECT_EQ(config.print(),
            R"({"hooks":{"prestart":[],"poststop":[{"path":"/other"},)"
            R"({"path":"/usr/bin/hook","args":["hook","poststop"],"env":["A=b"],"timeout":5}]}})");
  config.remove_hooks("createRuntime", kHook.path);
  config.remove_hooks("poststop", kHook.path);
  EXPECT_EQ(config.print(), R"({"hooks":{"prestart":[],"poststop":[{"path":"/other"}]}})");
  config.remove_hooks("poststop", "/other");
  EXPECT_EQ(config.print(), R"({"hooks":{"prestart":[]}})");
}

TEST(Config, GivesAHookAnEnvironmentAlways) {
  Config config = parsed("{}");
  config.add_hook("poststop", Hook{"/h", {"h"}, {}, std::nullopt});
  EXPECT_EQ(config.print(), R"({"hooks":{"poststop":[{"path":"/h","args":["h"],"env":[]}]}})");
}

TEST(Config, RefusesWrongTypesWhereItWouldEdit) {
  EXPECT_EQ(error_of("[]"), "$: must be an object");
  EXPECT_EQ(error_of(R"({"annotations":{"a b":1}})"), R"($.annotations["a b"]: must be a string)");
  EXPECT_EQ(error_of(R"({"linux":[]})"), "$.linux: must be an object");
  EXPECT_EQ(error_of(R"({"linux":{"seccomp":"no"}})"), "$.linux.seccomp: must be an object");
  EXPECT_EQ(error_of(R"({"hooks":{"poststop":{}}})"), "$.hooks.poststop: must be a list");
  EXPECT_EQ(error_of(R"({"hooks":{"createRuntime":[{}]}})"),
            "$.hooks.createRuntime[0].path: missing");
  EXPECT_EQ(error_of(R"({"process":{"capabilities":{"bounding":[1]}}})"),
            "$.process.capabilities.bounding[0]: must be a string");
  EXPECT_EQ(error_of(R"({"linux":{},"linux":{}})"), "$.linux: repeated key");
  EXPECT_THAT(error_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(std::string((16U << 20) + 1, ' ')), HasSubstr("allowed"));
}

TEST(Config, NamesWhatIsWrongWithSeccomp) {
  const auto seccomp = parsed(R"({"linux":{"seccomp":{"defaultAction":1}}})").seccomp();
  ASSERT_FALSE(seccomp);
  EXPECT_EQ(seccomp.error().message, "$.linux.seccomp.defaultAction: must be a string");
}

TEST(Config, RefusesSeccompTextThatIsNoSection) {
  Config config = parsed(kBundle);
  EXPECT_FALSE(config.set_seccomp_text("[]"));
  EXPECT_FALSE(config.set_seccomp_text("{\"a\":1,\"a\":1}"));
  EXPECT_EQ(config.print(), kBundle);
}

}  // namespace
}  // namespace sidecall::oci
