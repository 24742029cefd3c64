#include "emulators/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace sidecall::emulators {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DeviceList list(const std::vector<std::string>& entries) {
  auto parsed = DeviceList::parse(entries);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.value_or(DeviceList());
}

TEST(DeviceList, AllowsWhatItListsAndNothingBeside) {
  const DeviceList devices = list({"c 1:3", "b 7:0"});
  EXPECT_TRUE(devices.allows(S_IFCHR | 0666, 1, 3));
  EXPECT_TRUE(devices.allows(S_IFBLK | 0660, 7, 0));
  EXPECT_FALSE(devices.allows(S_IFBLK, 1, 3));
  EXPECT_FALSE(devices.allows(S_IFCHR, 7, 0));
  EXPECT_FALSE(devices.allows(S_IFCHR, 1, 4));
  EXPECT_FALSE(devices.allows(S_IFCHR, 2, 3));
  EXPECT_FALSE(devices.allows(S_IFREG, 1, 3));
}

TEST(DeviceList, AStarAllowsEveryMinorOfItsMajor) {
  const DeviceList devices = list({"c 1:*"});
  EXPECT_TRUE(devices.allows(S_IFCHR, 1, 0));
  EXPECT_TRUE(devices.allows(S_IFCHR, 1, (1U << 20U) - 1));
  EXPECT_FALSE(devices.allows(S_IFCHR, 2, 0));
  EXPECT_FALSE(devices.allows(S_IFBLK, 1, 0));
}

TEST(DeviceList, AnEmptyOneAllowsNothing) {
  EXPECT_FALSE(list({}).allows(S_IFCHR, 0, 0));
}

TEST(DeviceList, TakesTheKernelsLargestNumbersAndNoLarger) {
  EXPECT_TRUE(list({"c 4095:1048575"}).allows(S_IFCHR, 4095, 1048575));
  EXPECT_FALSE(DeviceList::parse({"c 4096:0"}));
  EXPECT_FALSE(DeviceList::parse({"c 0:1048576"}));
  EXPECT_FALSE(DeviceList::parse({"c 99999999999999999999:0"}));
}

TEST(DeviceList, RefusesWhatIsNoDeviceAndNamesIt) {
  for (const std::string bad :
       {"",       "c",       "c ",        "c 1",    "c 1:",   "c :3",   "c *:3",
        "c *:*",  "a 1:3",   "C 1:3",     "c1:3",   "c  1:3", "c 1: 3", " c 1:3",
        "c 1:3 ", "c 1:3:4", "c 1:3 rwm", "c -1:3", "c +1:3", "c 1:-3", "c 0x1:3",
        "c 1:**", "c 1:3*",  "c\t1:3",    "p 1:3"}) {
    const auto parsed = DeviceList::parse({"c 1:5", bad});
    ASSERT_FALSE(parsed) << bad;
    EXPECT_THAT(parsed.error().message,
                AllOf(HasSubstr("\"" + bad + "\" is not a device"), HasSubstr("write it as")));
  }
  EXPECT_FALSE(DeviceList::parse({std::string("c 1:3\0", 6)}));
}

}  // namespace
}  // namespace sidecall::emulators
