#include "oci_runtime/real_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "unit/hook/fixtures.h"

namespace sidecall::oci_runtime {
namespace {

using testing::HasSubstr;

class RealRuntime : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(first_);
    std::filesystem::create_directories(second_);
    place(second_ + "/runc", 0755);
  }
  static void place(const std::string& path, unsigned mode) {
    ASSERT_TRUE(replace_file(path, "#!/bin/sh\n", mode));
  }

  oci_hook::TemporaryDirectory directory_;
  std::string first_ = directory_.path() + "/first";
  std::string second_ = directory_.path() + "/second";
  std::string search_ = first_ + "::" + second_;
};

TEST_F(RealRuntime, IsTheOneThatIsNamed) {
  place(first_ + "/youki", 0755);
  EXPECT_EQ(find_runtime("youki", "sidecall-runtime", search_), first_ + "/youki");
  EXPECT_EQ(find_runtime(second_ + "/runc", "sidecall-runtime", ""), second_ + "/runc");
}

TEST_F(RealRuntime, IsTheOneOfOurName) {
  place(first_ + "/crun", 0755);
  EXPECT_EQ(find_runtime("", "/usr/bin/sidecall-runtime-runc", search_), second_ + "/runc");
}

TEST_F(RealRuntime, IsElseCrunElseRunc) {
  for (const char* name : {"sidecall-runtime", "/usr/bin/sidecall-runtime-", "runtime-of-mine"}) {
    EXPECT_EQ(find_runtime("", name, search_), second_ + "/runc") << name;
  }
  place(second_ + "/crun", 0755);
  EXPECT_EQ(find_runtime("", "sidecall-runtime", search_), second_ + "/crun");
}

TEST_F(RealRuntime, CanBeRun) {
  place(first_ + "/runc", 0644);
  std::filesystem::create_directory(first_ + "/crun");
  EXPECT_EQ(find_runtime("", "sidecall-runtime", search_), second_ + "/runc");
  EXPECT_THAT(find_runtime(first_ + "/runc", "", search_).error().message, HasSubstr("no program"));
  EXPECT_THAT(find_runtime("", "", first_).error().message, HasSubstr("crun or runc"));
}

TEST_F(RealRuntime, IsNeverOurselves) {
  std::filesystem::create_symlink("/proc/self/exe", first_ + "/runc");
  EXPECT_EQ(find_runtime("runc", "", search_), second_ + "/runc");
  EXPECT_THAT(find_runtime(first_ + "/runc", "", search_).error().message, HasSubstr("itself"));
}

}  // namespace
}  // namespace sidecall::oci_runtime
