#include "emulators/fuse_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::emulators {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Texts = std::vector<std::string>;

Result<FuseList> parsed(const Texts& entries, const Texts& filesystems = {"ext4: ro", "squashfs"}) {
  const auto listed = FilesystemList::parse(filesystems);
  EXPECT_TRUE(listed) << listed.error().message;
  return FuseList::parse(entries, listed.value_or(FilesystemList()));
}

TEST(FuseList, GivesProgramsWithTheirArguments) {
  const auto list = parsed({" ext4 :  fuse2fs ", "squashfs: /usr/bin/squashfuse -o x=1:2"});
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_NE(list->command("ext4"), nullptr);
  EXPECT_THAT(*list->command("ext4"), ElementsAre("fuse2fs"));
  EXPECT_THAT(*list->command("squashfs"), ElementsAre("/usr/bin/squashfuse", "-o", "x=1:2"));
  EXPECT_EQ(list->command("xfs"), nullptr);
  EXPECT_FALSE(list->empty());
  EXPECT_TRUE(parsed({})->empty());
}

std::string refusal(const std::string& entry, const Texts& filesystems = {"ext4: ro", "tmpfs"}) {
  const auto list = parsed({entry}, filesystems);
  return list ? "" : list.error().message;
}

TEST(FuseList, NamesWhatIsWrong) {
  for (const char* entry : {"ext4", "ext4:", "ext4: ", ": fuse2fs", "ext4 xfs: fuse2fs", ""}) {
    EXPECT_THAT(refusal(entry), HasSubstr("is no type with a program")) << entry;
  }
  EXPECT_THAT(refusal("ext4: ./fuse2fs"), HasSubstr("a name or an absolute path"));
  EXPECT_THAT(refusal("xfs: some"), HasSubstr("\"xfs\" is no type of a block device that"));
  EXPECT_THAT(refusal("tmpfs: some"), HasSubstr("\"tmpfs\" is no type of a block device that"));
  EXPECT_THAT(refusal("ext4: fuse2fs", {"ext4: *"}), HasSubstr("by name, not *"));
  const auto twice = parsed({"ext4: fuse2fs", "ext4: other"});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message, "\"ext4\" is there twice");
}

}  // namespace
}  // namespace sidecall::emulators
