#include "emulators/attribute_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::emulators {
namespace {

AttributeNames names_of(const std::vector<std::string>& entries) {
  auto names = AttributeNames::parse(entries);
  EXPECT_TRUE(names) << names.error().message;
  return std::move(names).value_or(AttributeNames());
}

TEST(AttributeNames, AreWholeOrBegun) {
  const AttributeNames names = names_of({"trusted.overlay.*", "security.ima", "trusted.a"});
  for (const std::string_view name :
       {"trusted.overlay.opaque", "trusted.overlay.", "security.ima", "trusted.a"}) {
    EXPECT_TRUE(names.allows(name)) << name;
  }
  for (const std::string_view name : {"trusted.overlay", "trusted.overla", "security.imaa",
                                      "security.im", "trusted.a.b", "user.a", "trusted.", ""}) {
    EXPECT_FALSE(names.allows(name)) << name;
  }
  EXPECT_FALSE(AttributeNames().allows("trusted.a"));
}

TEST(AttributeNames, LeaveFileCapabilitiesOut) {
  EXPECT_FALSE(names_of({"security.capability"}).allows("security.capability"));
  const AttributeNames names = names_of({"security.*"});
  EXPECT_TRUE(names.allows("security.capabilities"));
  EXPECT_FALSE(names.allows("security.capability"));
  // The kernel takes a name as far as its NUL.
  EXPECT_FALSE(names.allows(std::string_view("security.capability\0x", 21)));
}

TEST(AttributeNames, RefuseWhatNeedsNoListing) {
  for (const std::string& entry :
       {std::string("user.a"), std::string("system.posix_acl_access"), std::string("trusted"),
        std::string("trusted."), std::string("security."), std::string("*"), std::string(),
        std::string("trusted.*.a"), std::string("trusted.a**"), std::string("trusted.a\0", 10),
        "trusted." + std::string(248, 'n')}) {
    const auto names = AttributeNames::parse({"trusted.good", entry});
    ASSERT_FALSE(names) << entry;
    EXPECT_THAT(names.error().message, testing::StartsWith("\"" + entry + "\""));
  }
  EXPECT_TRUE(AttributeNames::parse({"trusted." + std::string(247, 'n')}));
  EXPECT_TRUE(AttributeNames::parse({"trusted.*"}));
}

}  // namespace
}  // namespace sidecall::emulators
