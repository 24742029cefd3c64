#include "oci_runtime/preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/file.h"
#include "oci/config.h"
#include "unit/hook/fixtures.h"

namespace sidecall::oci_runtime {
namespace {

using oci_hook::FakeAgent;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kHook = "/usr/libexec/sidecall/sidecall-hook";

class Preparation : public testing::Test {
 protected:
  void SetUp() override {
    invocation_.creates = true;
    invocation_.bundle = directory_.path();
    options_.places.run_directory = directory_.path();
    options_.places.policy_directory = directory_.path();
    options_.places.wait = {};
    ASSERT_TRUE(replace_file(directory_.path() + "/nested.json", oci_hook::kPolicyText, 0644));
  }
  void give(const std::map<std::string, std::string>& annotations) {
    auto config = oci_hook::config_named("podman");
    for (const auto& [key, value] : annotations) config.set_annotation(key, value);
    original_ = config.print();
    ASSERT_TRUE(replace_file(path(), original_, 0640));
  }
  [[nodiscard]] std::string path() const { return directory_.path() + "/config.json"; }
  [[nodiscard]] std::string config() const { return read_file(path()).value_or(""); }
  auto prepare_it() { return prepare(options_, invocation_, std::string(kHook)); }

  oci_hook::TemporaryDirectory directory_;
  Invocation invocation_;
  OwnOptions options_;
  std::string original_;
};

TEST_F(Preparation, AnAnnotatedContainerIsPutUnderItsPolicy) {
  const FakeAgent agent(directory_.path(), "ok\n");
  give({{"dev.sidecall.policy", "nested"}});
  ASSERT_TRUE(prepare_it());
  EXPECT_THAT(config(), AllOf(HasSubstr(directory_.path() + "/seccomp.sock"), HasSubstr(kHook),
                              HasSubstr(R"("listenerMetadata":"nested")")));
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST_F(Preparation, AnotherStaysAsItIs) {
  give({{"org.example", "nested"}});
  ASSERT_TRUE(prepare_it());
  EXPECT_EQ(config(), original_);
}

TEST_F(Preparation, UnlessAllAreWanted) {
  const FakeAgent agent(directory_.path(), "ok\n");
  options_.policy = "nested";
  give({});
  ASSERT_TRUE(prepare_it());
  EXPECT_THAT(config(), HasSubstr(R"("listenerMetadata":"nested")"));
}

// A container as docker makes it: its own record lies beside what is mounted on /etc/hosts.
class Labelled : public Preparation {
 protected:
  void give_label(const std::string& key, const std::string& value) {
    give({});
    auto json = config();
    const std::string own = directory_.path() + "/abc";
    const std::string before = R"("destination":"/etc/hosts","type":"bind","source":")";
    const auto source = json.find(before) + before.size();
    ASSERT_GT(source, before.size());
    json.replace(source, json.find('"', source) - source, own + "/hosts");
    ASSERT_TRUE(replace_file(path(), json, 0640));
    original_ = json;
    std::filesystem::create_directory(own);
    ASSERT_TRUE(replace_file(own + "/config.v2.json",
                             R"({"Config": {"Labels": {")" + key + R"(": ")" + value + R"("}}})",
                             0600));
    invocation_.container = "abc";
    options_.labelled = {"other", "nested"};
  }
};

TEST_F(Labelled, MayNameAPolicy) {
  const FakeAgent agent(directory_.path(), "ok\n");
  give_label("dev.sidecall.policy", "nested");
  ASSERT_TRUE(prepare_it());
  EXPECT_THAT(config(), HasSubstr(R"("listenerMetadata":"nested")"));
}

TEST_F(Labelled, MayNotNameWhatIsNotListed) {
  give_label("dev.sidecall.policy", "wide");
  EXPECT_THAT(prepare_it().error().message, HasSubstr("\"wide\""));
  options_.labelled.clear();
  ASSERT_TRUE(prepare_it());
  EXPECT_EQ(config(), original_);
}

TEST_F(Labelled, MayNameNone) {
  give_label("other", "nested");
  ASSERT_TRUE(prepare_it());
  EXPECT_EQ(config(), original_);
}

TEST_F(Labelled, IsDockersOwnContainerOnly) {
  give_label("dev.sidecall.policy", "nested");
  invocation_.container = "bc";
  ASSERT_TRUE(prepare_it());
  EXPECT_EQ(config(), original_);
}

TEST_F(Labelled, ARecordThatCannotBeReadIsNamed) {
  give_label("dev.sidecall.policy", "nested\nwith");
  EXPECT_THAT(prepare_it().error().message, HasSubstr("config.v2.json"));
}

TEST_F(Preparation, AContainerThatOnlyHoldsAPodIsLeftAlone) {
  options_.policy = "nested";
  for (const char* key :
       {"io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType"}) {
    give({{key, "sandbox"}, {"dev.sidecall.policy", "nested"}});
    ASSERT_TRUE(prepare_it());
    EXPECT_EQ(config(), original_) << key;
  }
  const FakeAgent agent(directory_.path(), "ok\n");
  give({{"io.kubernetes.cri.container-type", "container"}, {"dev.sidecall.policy", "nested"}});
  ASSERT_TRUE(prepare_it());
  EXPECT_NE(config(), original_);
}

TEST_F(Preparation, WithoutAnAgentTheContainerDoesNotStart) {
  give({{"dev.sidecall.policy", "nested"}});
  const auto prepared = prepare_it();
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, HasSubstr("sidecalld"));
  EXPECT_EQ(config(), original_);
}

TEST_F(Preparation, UnlessItMay) {
  give({{"dev.sidecall.policy", "nested"}, {"dev.sidecall.optional", "true"}});
  const auto prepared = prepare_it();
  ASSERT_TRUE(prepared);
  EXPECT_THAT(*prepared, testing::ElementsAre(HasSubstr("without interception")));
  EXPECT_EQ(config(), original_);
}

TEST_F(Preparation, APolicyThatIsNotThereIsNamed) {
  const FakeAgent agent(directory_.path(), "ok\n");
  give({{"dev.sidecall.policy", "none"}});
  EXPECT_THAT(prepare_it().error().message, HasSubstr("none.json"));
}

// The runtime says what is wrong.
TEST_F(Preparation, WhatIsNoConfigIsTheRuntimes) {
  options_.policy = "nested";
  EXPECT_TRUE(prepare_it());
  ASSERT_TRUE(replace_file(path(), "dev.sidecall.policy", 0644));
  EXPECT_TRUE(prepare_it());
  EXPECT_EQ(config(), "dev.sidecall.policy");
}

}  // namespace
}  // namespace sidecall::oci_runtime
