#include "agent/check_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "unit/agent/fake_host.h"
#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CheckConfig, NamesEveryBadPolicyInOrder) {
  const TemporaryDirectory directory;
  for (const char* name : {"zz.json", "default.json", "aa.json", "README.md"}) {
    ASSERT_TRUE(replace_file(directory / name, "{}", 0600));
  }
  FakeHost host;
  const auto check = check_config(directory.path(), host);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->policies, 3U);
  EXPECT_THAT(check->complaints, ElementsAre(HasSubstr("\"aa\""), HasSubstr("\"zz\"")));
}

TEST(CheckConfig, GoodOnesGiveNoComplaint) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(replace_file(directory / "default.json", "{}", 0600));
  FakeHost host;
  const auto check = check_config(directory.path(), host);
  ASSERT_TRUE(check);
  EXPECT_THAT(check->complaints, IsEmpty());
}

TEST(CheckConfig, AMissingDirectoryIsAnError) {
  const TemporaryDirectory directory;
  FakeHost host;
  const auto check = check_config(directory / "none", host);
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().message,
            "policy directory " + (directory / "none") + ": No such file or directory");
}

}  // namespace
}  // namespace sidecall::agent
