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

TEST(FilesystemList, AServersAddressMustBeListed) {
  const FilesystemList list = parsed({"nfs4: addr=192.0.2.1,addr=2001:db8::1,vers,proto",
                                      "nfs: addr=192.0.2.1,mountaddr=192.0.2.1,nolock",
                                      "cifs: ip=192.0.2.2,username,password"});
  const auto& nfs4 = *list.find("nfs4");
  EXPECT_EQ(nfs4.kind, FilesystemList::Kind::kNetwork);
  EXPECT_TRUE(nfs4.allows("vers=4.2,addr=192.0.2.1"));
  EXPECT_TRUE(nfs4.allows("addr=2001:db8::1,proto=tcp6"));
  for (const char* data :
       {"", "vers=4.2", "addr=192.0.2.9", "addr=192.0.2.1,addr=192.0.2.9", "addr=192.0.2.1,ro",
        "addr=192.0.2.1,ip=192.0.2.1", "addr", "addr=", "addr=192.0.2.10", ",addr=192.0.2.1",
        "vers=\"4,addr=192.0.2.1\"", "addr=192.0.2.1,vers='4'", "vers=4\\,addr=192.0.2.1"}) {
    EXPECT_FALSE(nfs4.allows(data)) << data;
  }
  EXPECT_TRUE(list.find("nfs")->allows("addr=192.0.2.1,mountaddr=192.0.2.1,nolock"));
  EXPECT_FALSE(list.find("nfs")->allows("mountaddr=192.0.2.1")) << "says nothing of the server";
  const auto& cifs = *list.find("cifs");
  EXPECT_TRUE(cifs.allows("username=me,password=you,ip=192.0.2.2"));
  EXPECT_FALSE(cifs.allows("password=you,,ip=192.0.2.2")) << "all that is the password";
  EXPECT_FALSE(cifs.allows("sep=;,ip=192.0.2.2"));
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
  for (const char* entry : {"nfs4: addr", "nfs4: addr=", "nfs4: *", "nfs4: vers=4", "cifs: ip",
                            "cifs: =", "ext4: addr=192.0.2.1"}) {
    EXPECT_THAT(error(entry), HasSubstr("of servers also addresses")) << entry;
  }
  for (const char* entry : {"nfs4", "nfs4: vers", "nfs: mountaddr=192.0.2.1"}) {
    EXPECT_THAT(error(entry), HasSubstr("names no server")) << entry;
  }
  EXPECT_THAT(FilesystemList::parse({"ext4", "ext4: *"}).error().message,
              HasSubstr("\"ext4\" is there twice"));
}

}  // namespace
}  // namespace sidecall::emulators
