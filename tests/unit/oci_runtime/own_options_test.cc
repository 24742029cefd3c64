#include "oci_runtime/own_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace sidecall::oci_runtime {
namespace {

using testing::HasSubstr;

Result<OwnOptions> read(std::vector<const char*> words) {
  return read_own_options(words);
}

TEST(OwnOptions, NoneAreNeeded) {
  const auto options = read({"--root", "/r", "create", "abc"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->words, 0U);
  EXPECT_EQ(options->runtime, "");
  EXPECT_FALSE(options->policy);
  EXPECT_EQ(options->places.run_directory, "/run/sidecall");
}

TEST(OwnOptions, StandBeforeTheRuntimes) {
  const auto options =
      read({"--sidecall-runtime=crun", "--sidecall-policy", "nested", "--sidecall-run-dir", "/x",
            "--sidecall-policy-dir=/y", "--sidecall-wait=70", "create", "--sidecall-policy=no"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->words, 7U);
  EXPECT_EQ(options->runtime, "crun");
  EXPECT_EQ(options->policy, "nested");
  EXPECT_EQ(options->places.run_directory, "/x");
  EXPECT_EQ(options->places.policy_directory, "/y");
  EXPECT_EQ(options->places.wait.count(), 70);
}

TEST(OwnOptions, SeveralPoliciesMayBeLabelled) {
  EXPECT_THAT(read({"--sidecall-labels=a,b,,c"})->labelled, testing::ElementsAre("a", "b", "c"));
}

TEST(OwnOptions, WhatIsWrongIsNamed) {
  EXPECT_THAT(read({"--sidecall-polcy", "x"}).error().message, HasSubstr("--sidecall-polcy"));
  EXPECT_THAT(read({"--sidecall-policy"}).error().message, HasSubstr("needs a value"));
  EXPECT_THAT(read({"--sidecall-policy="}).error().message, HasSubstr("needs a value"));
  EXPECT_THAT(read({"--sidecall-wait=9000"}).error().message, HasSubstr("4000"));
}

TEST(OwnOptions, HelpAndVersionAreAskedForByOurNames) {
  EXPECT_EQ(read({"--sidecall-help"})->wish, OwnOptions::Wish::kHelp);
  EXPECT_EQ(read({"--sidecall-version"})->wish, OwnOptions::Wish::kVersion);
  EXPECT_EQ(read({"--version"})->wish, OwnOptions::Wish::kRun);
}

}  // namespace
}  // namespace sidecall::oci_runtime
