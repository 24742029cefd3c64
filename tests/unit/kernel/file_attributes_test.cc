// As anybody: of the attributes that anybody may have.
#include "kernel/file_attributes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/xattr.h>
#include <sched.h>

#include <thread>

#include "base/unique_fd.h"
#include "support/temporary_directory.h"

namespace sidecall::kernel {
namespace {

class FileAttributesTest : public testing::Test {
 protected:
  // On a thread of its own, whose directory may change.
  template <typename Act>
  void on_file(Act act) {
    std::thread([&] {
      ASSERT_EQ(::unshare(CLONE_FS), 0);
      const UniqueFd proc(::open("/proc", O_PATH | O_CLOEXEC));
      UniqueFd(::open(directory_.file("file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
      const UniqueFd file(::open(directory_.file("file").c_str(), O_PATH | O_CLOEXEC));
      KernelFileAttributes attributes(proc.get());
      act(attributes, file.get());
    }).join();
  }
  support::TemporaryDirectory directory_;
};

TEST_F(FileAttributesTest, AreSetReadListedAndRemoved) {
  on_file([](FileAttributes& attributes, int file) {
    const std::string value("a\0b", 3);
    ASSERT_TRUE(attributes.set(file, "user.first", value, XATTR_CREATE));
    EXPECT_EQ(attributes.set(file, "user.first", value, XATTR_CREATE).error().value, EEXIST);
    ASSERT_TRUE(attributes.set(file, "user.second", "", 0));
    EXPECT_EQ(attributes.get(file, "user.first").value_or("none"), value);
    EXPECT_EQ(attributes.get(file, "user.second").value_or("none"), "");
    const std::string names = attributes.list(file).value_or("");
    EXPECT_NE(names.find(std::string("user.first\0", 11)), std::string::npos);
    EXPECT_NE(names.find(std::string("user.second\0", 12)), std::string::npos);
    EXPECT_TRUE(attributes.remove(file, "user.first"));
    EXPECT_EQ(attributes.remove(file, "user.first").error().value, ENODATA);
    EXPECT_EQ(attributes.get(file, "user.first").error().value, ENODATA);
  });
}

TEST_F(FileAttributesTest, ABadDescriptorIsAnError) {
  on_file([](FileAttributes& attributes, int) {
    EXPECT_EQ(attributes.get(4242, "user.a").error().value, ENOENT);
    EXPECT_EQ(attributes.set(4242, "user.a", "", 0).error().value, ENOENT);
  });
}

}  // namespace
}  // namespace sidecall::kernel
