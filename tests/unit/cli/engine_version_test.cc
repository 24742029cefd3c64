#include "cli/engine_version.h"

#include <gtest/gtest.h>

namespace sidecall::cli {
namespace {

TEST(EngineVersionTest, ReadsWhatEnginesPrint) {
  const auto expect = [](std::string_view output, unsigned major, unsigned minor) {
    const auto version = find_version(output);
    ASSERT_TRUE(version) << output;
    EXPECT_EQ(version->major, major) << output;
    EXPECT_EQ(version->minor, minor) << output;
  };
  expect("crun version 1.8.1\ncommit: f8a0", 1, 8);
  expect("runc version 1.1.5+ds1\n", 1, 1);
  expect("podman version 4.3.1\n", 4, 3);
  expect("containerd github.com/containerd/containerd v1.6.20 2806\n", 1, 6);
  expect("Docker version 20.10.24+dfsg1, build 297e128\n", 20, 10);
  expect("build 7 of 1.2", 1, 2);
}

TEST(EngineVersionTest, FindsNoneWhereThereIsNone) {
  for (const std::string_view output : {"", "crun", "version 7", "7.", "99999999999999.1"}) {
    EXPECT_FALSE(find_version(output)) << output;
  }
}

TEST(EngineVersionTest, Compares) {
  EXPECT_TRUE((EngineVersion{1, 0} < EngineVersion{1, 1}));
  EXPECT_TRUE((EngineVersion{0, 19} < EngineVersion{1, 0}));
  EXPECT_FALSE((EngineVersion{1, 1} < EngineVersion{1, 1}));
}

}  // namespace
}  // namespace sidecall::cli
