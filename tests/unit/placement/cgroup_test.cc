#include "placement/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace sidecall::placement {
namespace {

using testing::ElementsAre;

// A line of mountinfo, with the optional field that some mounts have.
std::string mount(const std::string& root, const std::string& point, const std::string& type,
                  const std::string& options, const std::string& optional = "shared:9 ") {
  return "35 24 0:30 " + root + " " + point + " rw,nosuid " + optional + "- " + type + " " + type +
         " rw" + (options.empty() ? "" : "," + options) + "\n";
}

const std::string kOtherMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" + mount("/", "/proc", "proc", "");
const std::string kV2Mounts = kOtherMounts + mount("/", "/sys/fs/cgroup", "cgroup2", "nsdelegate");
const std::string kV1Mounts =
    kOtherMounts + mount("/", "/sys/fs/cgroup/memory", "cgroup", "memory") +
    mount("/", "/sys/fs/cgroup/cpu,cpuacct", "cgroup", "cpu,cpuacct", "") +
    mount("/", "/sys/fs/cgroup/cpuset", "cgroup", "cpuset");

// The directory's path, with the version in front; "none".
std::string found(const std::string& cgroups, const std::string& mounts,
                  std::string_view controller) {
  const auto directory = find_cgroup_in(cgroups, mounts, controller);
  if (!directory) return "none";
  return (directory->version == CgroupVersion::kV2 ? "v2 " : "v1 ") + directory->path;
}

TEST(FindCgroup, InV2AllControllersAreInOneHierarchy) {
  for (const char* controller : {"memory", "cpuset"}) {
    EXPECT_EQ(found("0::/user.slice/x\n", kV2Mounts, controller), "v2 /sys/fs/cgroup/user.slice/x");
  }
}

TEST(FindCgroup, InV1EachControllerHasItsOwn) {
  const std::string cgroups = "5:memory:/a/b\n4:cpu,cpuacct:/c\n3:cpuset:/\n2:name=systemd:/d\n";
  EXPECT_EQ(found(cgroups, kV1Mounts, "memory"), "v1 /sys/fs/cgroup/memory/a/b");
  EXPECT_EQ(found(cgroups, kV1Mounts, "cpuset"), "v1 /sys/fs/cgroup/cpuset");
  EXPECT_EQ(found(cgroups, kV1Mounts, "pids"), "none");
}

TEST(FindCgroup, ControllersThatAreMountedTogetherAreEachFound) {
  const std::string cgroups = "4:cpu,cpuacct:/c\n";
  EXPECT_EQ(found(cgroups, kV1Mounts, "cpu"), "v1 /sys/fs/cgroup/cpu,cpuacct/c");
  EXPECT_EQ(found(cgroups, kV1Mounts, "cpuacct"), "v1 /sys/fs/cgroup/cpu,cpuacct/c");
  EXPECT_EQ(found(cgroups, kV1Mounts, "cpuac"), "none");
}

TEST(FindCgroup, InAHybridLayoutV1HasWhatItHasAndV2TheRest) {
  const std::string cgroups = "5:memory:/a\n0::/unified\n";
  const std::string mounts = kV1Mounts + mount("/", "/sys/fs/cgroup/unified", "cgroup2", "");
  EXPECT_EQ(found(cgroups, mounts, "memory"), "v1 /sys/fs/cgroup/memory/a");
  EXPECT_EQ(found(cgroups, mounts, "pids"), "v2 /sys/fs/cgroup/unified/unified");
}

TEST(FindCgroup, ANamedHierarchyIsNoController) {
  EXPECT_EQ(found("1:name=memory:/x\n", kV1Mounts, "memory"), "none");
}

TEST(FindCgroup, AMountOfPartOfTheHierarchyHidesWhatIsAbove) {
  const std::string mounts = mount("/docker/abc", "/sys/fs/cgroup/memory", "cgroup", "memory");
  EXPECT_EQ(found("5:memory:/docker/abc/inner\n", mounts, "memory"),
            "v1 /sys/fs/cgroup/memory/inner");
  EXPECT_EQ(found("5:memory:/docker/abc\n", mounts, "memory"), "v1 /sys/fs/cgroup/memory");
  EXPECT_EQ(found("5:memory:/elsewhere\n", mounts, "memory"), "none");
}

TEST(FindCgroup, ANameThatOnlyStartsLikeTheMountedOneIsAnother) {
  const std::string mounts = mount("/docker/abc", "/sys/fs/cgroup/memory", "cgroup", "memory");
  EXPECT_EQ(found("5:memory:/docker/abcd\n", mounts, "memory"), "none");
}

TEST(FindCgroup, WhatIsOutsideOfTheCgroupNamespaceIsInAMountFromOutsideOnly) {
  EXPECT_EQ(found("0::/../other\n", kV2Mounts, "memory"), "none");
  EXPECT_EQ(found("0::/..\n", kV2Mounts, "memory"), "none");
  EXPECT_EQ(found("0::/..a\n", kV2Mounts, "memory"), "v2 /sys/fs/cgroup/..a");
  const std::string from_outside = kV2Mounts + mount("/../..", "/host/cgroup", "cgroup2", "");
  EXPECT_EQ(found("0::/../../other\n", from_outside, "memory"), "v2 /host/cgroup/other");
}

TEST(FindCgroup, TheMountThatHoldsItIsChosen) {
  const std::string mounts = mount("/docker/abc", "/somewhere", "cgroup2", "") +
                             mount("/", "/sys/fs/cgroup", "cgroup2", "");
  EXPECT_EQ(found("0::/user\n", mounts, "memory"), "v2 /sys/fs/cgroup/user");
}

TEST(FindCgroup, NamesWithColonsAndSpacesAreKept) {
  EXPECT_EQ(found("0::/a:b/c d\n", kV2Mounts, "memory"), "v2 /sys/fs/cgroup/a:b/c d");
  EXPECT_EQ(found("0::/x\n", mount("/", "/my\\040cgroups\\134", "cgroup2", ""), "memory"),
            "v2 /my cgroups\\/x");
  EXPECT_EQ(found("0::/a b/x\n", mount("/a\\040b", "/m", "cgroup2", ""), "memory"), "v2 /m/x");
}

TEST(FindCgroup, WithoutAHierarchyOrAMountThereIsNone) {
  EXPECT_EQ(found("", kV2Mounts, "memory"), "none");
  EXPECT_EQ(found("0::/x\n", kOtherMounts, "memory"), "none");
  EXPECT_EQ(found("0::/x\n", "", "memory"), "none");
  EXPECT_EQ(found("0::/x\n", "garbage\n- cgroup2\n\n", "memory"), "none");
  EXPECT_EQ(found("garbage\n:\n::\n\n", kV2Mounts, "memory"), "none");
}

TEST(FindCgroup, OfAProcessIsADirectoryOfThisHost) {
  const auto directory = find_cgroup(::getpid(), "memory");
  ASSERT_TRUE(directory) << directory.error().message;
  if (!*directory) GTEST_SKIP() << "no memory controller is mounted here";
  EXPECT_TRUE(std::filesystem::is_directory((*directory)->path)) << (*directory)->path;
  EXPECT_FALSE(find_cgroup(std::numeric_limits<pid_t>::max(), "memory"));
}

TEST(CgroupLevels, GoFromTheInnermostToTheMount) {
  const CgroupDirectory directory{.path = "/sys/fs/cgroup/memory/a/b",
                                  .mount = "/sys/fs/cgroup/memory"};
  EXPECT_THAT(directory.levels(), ElementsAre("/sys/fs/cgroup/memory/a/b",
                                              "/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"));
}

TEST(CgroupLevels, TheMountItselfIsOneLevel) {
  const CgroupDirectory directory{.path = "/sys/fs/cgroup", .mount = "/sys/fs/cgroup"};
  EXPECT_THAT(directory.levels(), ElementsAre("/sys/fs/cgroup"));
}

}  // namespace
}  // namespace sidecall::placement
