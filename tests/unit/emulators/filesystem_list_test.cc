#include "emulators/filesystem_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::emulators {
namespace {

using testing::HasSubstr;

FilesystemList parsed(const std::vector<std::string>& entries) {
  auto list = FilesystemList::parse(entries);
  EXPECT_TRUE(list) << list.error().message;
  return list.value_or(FilesystemList());
}

TEST(FilesystemList, KnowsItsTypesAndTheirKind) {
  const FilesystemList list = parsed({"ext4", " tmpfs : size, mode "});
  ASSERT_NE(list.find("ext4"), nullptr);
  EXPECT_EQ(list.find("ext4")->kind, FilesystemList::Kind::kDevice);
  ASSERT_NE(list.find("tmpfs"), nullptr);
  EXPECT_EQ(list.find("tmpfs")->kind, FilesystemList::Kind::kContainer);
  EXPECT_EQ(list.find("xfs"), nullptr);
  EXPECT_EQ(list.find("ext"), nullptr);
  EXPECT_EQ(list.find(""), nullptr);
}

TEST(FilesystemList, AllowsTheListedOptionsAndNoOther) {
  const FilesystemList list = parsed({"ext4", "tmpfs: size,mode", "overlay: *"});
  const auto& tmpfs = *list.find("tmpfs");
  EXPECT_TRUE(tmpfs.allows(""));
  EXPECT_TRUE(tmpfs.allows("size=1m"));
  EXPECT_TRUE(tmpfs.allows("mode=755,size=1m"));
  EXPECT_TRUE(tmpfs.allows(",size=1m,,")) << "empty ones are passed over";
  EXPECT_FALSE(tmpfs.allows("uid=0"));
  EXPECT_FALSE(tmpfs.allows("size=1m,uid=0"));
  EXPECT_FALSE(tmpfs.allows("sizes=1m"));
  EXPECT_FALSE(tmpfs.allows("size =1m"));
  EXPECT_TRUE(list.find("ext4")->allows(""));
  EXPECT_FALSE(list.find("ext4")->allows("noload"));
  EXPECT_TRUE(list.find("overlay")->allows("lowerdir=/a:/b,userxattr"));
}

TEST(FilesystemList, ErrorsNameTheEntry) {
  const auto error = [](const char* entry) {
    const auto list = FilesystemList::parse({entry});
    return list ? "" : list.error().message;
  };
  EXPECT_THAT(error("debugfs"), HasSubstr("\"debugfs\" is of no type that can be mounted"));
  EXPECT_THAT(error("debugfs"), HasSubstr("squashfs"));
  EXPECT_THAT(error(""), HasSubstr("\"\""));
  EXPECT_THAT(error("tmpfs: size=1m"), HasSubstr("\"tmpfs: size=1m\": options are names"));
  EXPECT_THAT(error("tmpfs: size,,mode"), HasSubstr("options are names"));
  EXPECT_THAT(FilesystemList::parse({"ext4", "ext4: *"}).error().message,
              HasSubstr("\"ext4\" is there twice"));
}

}  // namespace
}  // namespace sidecall::emulators
