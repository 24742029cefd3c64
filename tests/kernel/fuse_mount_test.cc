// Filesystems that a program serves: the mount emulator's option "fuse", with real notifications
// and the program of Debian's package fuse2fs.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "base/file.h"
#include "gtest/gtest.h"
#include "kernel/device_image.h"
#include "kernel/forked.h"
#include "kernel/sandbox.h"
#include "support/native_abi.h"
#include "support/temporary_directory.h"

namespace sidecall::testing {
namespace {

using Texts = std::vector<std::string>;

class FuseMountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/usr/bin/fuse2fs", X_OK) != 0) GTEST_SKIP() << "fuse2fs is not installed";
    if (::access("/dev/fuse", F_OK) != 0) GTEST_SKIP() << "no FUSE here";
    if (image_.device().empty()) GTEST_SKIP() << "no loop device or no mkfs.ext4";
    ::chmod(directory_.path().c_str(), 0755);
    ::mkdir(place().c_str(), 0755);
    static_cast<void>(::chown(place().c_str(), kOutsideRoot, kOutsideRoot));
    static_cast<void>(::chown(image_.file().c_str(), kOutsideRoot, kOutsideRoot));
  }
  [[nodiscard]] std::string place() const { return directory_.path() + "/place"; }

  [[nodiscard]] SandboxOptions options(const std::string& program = "fuse2fs") const {
    SandboxOptions options{};
    options.program = emulate("mount",
                              {{"filesystems", Texts{"ext4: norecovery"}},
                               {"fuse", Texts{"ext4: " + program}},
                               {"devices", Texts{image_.number()}}},
                              {{support::kNativeAbi, SYS_mount}});
    return options;
  }

  // The program goes on writing for a moment after its filesystem has been unmounted.
  [[nodiscard]] bool becomes_clean() const {
    const std::string look = "e2fsck -fn " + image_.file() + " >/dev/null 2>&1";
    for (int tries = 0; tries < 500; ++tries) {
      if (std::system(look.c_str()) == 0) return true;  // NOLINT(cert-env33-c): our own words
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  support::TemporaryDirectory directory_;
  const DeviceImage image_{directory_.path()};
};

bool is_fuse(const std::string& path) {
  struct statfs about {};
  return ::statfs(path.c_str(), &about) == 0 && about.f_type == FUSE_SUPER_MAGIC;
}

// Mounts `source`, uses it as its owner would, and takes it off again.
void use(Checks& checks, const std::string& source, const std::string& at) {
  checks.expect_ok(::mount(source.c_str(), at.c_str(), "ext4", MS_NOEXEC, ""), "mount");
  const std::string path = at + "/file";
  const UniqueFd made(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0640));
  checks.expect(static_cast<bool>(made), "making a file");
  checks.expect(::write(made.get(), "words", 5) == 5, "writing");
  struct stat about {};
  checks.expect_ok(::fstat(made.get(), &about), "fstat");
  checks.expect(about.st_uid == 0 && about.st_size == 5, "the caller's, of five bytes");
  const auto back = read_file(path);
  checks.expect(back && *back == "words", "reading it back");
  checks.expect_ok(::access((at + "/lost+found").c_str(), F_OK), "what was there");
}

TEST_F(FuseMountTest, ServesADeviceAsTheKernelDoes) {
  const auto natively = run_natively([&](Checks& checks) {
    use(checks, image_.device(), place());
    checks.expect_ok(::umount2(place().c_str(), 0), "umount");
    checks.expect_ok(::mount(image_.device().c_str(), place().c_str(), "ext4", 0, ""), "again");
    checks.expect_ok(::unlink((place() + "/file").c_str()), "tidying");
    checks.expect_ok(::umount2(place().c_str(), 0), "umount");
  });
  ASSERT_EQ(natively, "");
  EXPECT_EQ(run_in_sandbox(options(),
                           [&](Checks& checks) {
                             use(checks, image_.device(), place());
                             checks.expect(is_fuse(place()), "not the kernel's driver");
                             checks.expect_ok(::umount2(place().c_str(), 0), "umount");
                             checks.expect(!is_fuse(place()), "it is off");
                           }),
            "");
  EXPECT_TRUE(becomes_clean());
}

TEST_F(FuseMountTest, ServesAnImageFile) {
  EXPECT_EQ(run_in_sandbox(options(),
                           [&](Checks& checks) {
                             use(checks, image_.file(), place());
                             checks.expect(is_fuse(place()), "a program's");
                             checks.expect_ok(::umount2(place().c_str(), 0), "umount");
                           }),
            "");
  EXPECT_TRUE(becomes_clean());
}

TEST_F(FuseMountTest, EndsWithItsSandbox) {
  EXPECT_EQ(run_in_sandbox(options(),
                           [&](Checks& checks) {
                             use(checks, image_.file(), place());
                             checks.expect(is_fuse(place()), "a program's");
                           }),
            "");
  EXPECT_TRUE(becomes_clean()) << "written out";
}

// The program of the mount before may still be writing.
void mount_again_and_again(Checks& checks, const std::string& source, const std::string& at) {
  for (int round = 0; round < 10; ++round) {
    const std::string number = std::to_string(round);
    checks.expect_ok(::mount(source.c_str(), at.c_str(), "ext4", 0, ""), "mount " + number);
    std::string path = at;
    path.append("/round").append(number);
    ::close(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    checks.expect_ok(::umount2(at.c_str(), 0), "umount " + number);
  }
}

// Each has an image of its own: of what is written to the file a loop device may know nothing.
TEST_F(FuseMountTest, AFileCanBeMountedAgainAtOnce) {
  EXPECT_EQ(run_in_sandbox(
                options(),
                [&](Checks& checks) { mount_again_and_again(checks, image_.file(), place()); }),
            "");
  EXPECT_TRUE(becomes_clean());
}

TEST_F(FuseMountTest, ADeviceCanBeMountedAgainAtOnce) {
  const Body body = [&](Checks& checks) {
    mount_again_and_again(checks, image_.device(), place());
  };
  EXPECT_EQ(run_natively(body), "");
  EXPECT_EQ(run_in_sandbox(options(), body), "");
  EXPECT_TRUE(becomes_clean());
}

void mount_twice(Checks& checks, const std::string& source, const std::string& at,
                 const std::string& other) {
  const auto mount = [&](const std::string& place, unsigned long flags) {
    return ::mount(source.c_str(), place.c_str(), "ext4", flags, "norecovery");
  };
  checks.expect_ok(mount(at, 0), "mount");
  checks.expect_errno(mount(other, MS_RDONLY), EBUSY, "the second");
  checks.expect_ok(::umount2(at.c_str(), 0), "umount");
  checks.expect_ok(mount(other, MS_RDONLY), "it is free");
}

TEST_F(FuseMountTest, NeitherAFileNorADeviceHasTwoPrograms) {
  const std::string other = directory_.file("other");
  ASSERT_EQ(::mkdir(other.c_str(), 0755), 0);
  for (const std::string& source : {image_.file(), image_.device()}) {
    EXPECT_EQ(run_in_sandbox(options(),
                             [&](Checks& checks) { mount_twice(checks, source, place(), other); }),
              "")
        << source;
  }
}

long as_user(uid_t user, const char* path, int mode) {
  return forked([&] {
    if (::setresgid(user, user, user) != 0 || ::setresuid(user, user, user) != 0) return -1;
    return ::access(path, mode);
  });
}

TEST_F(FuseMountTest, TheKernelComparesModes) {
  const auto body = [&](Checks& checks) {
    const std::string path = place() + "/file";
    checks.expect_ok(::mount(image_.device().c_str(), place().c_str(), "ext4", 0, ""), "mount");
    ::unlink(path.c_str());
    const UniqueFd made(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644));
    checks.expect(static_cast<bool>(made), "making a file");
    checks.expect_ok(as_user(1000, path.c_str(), R_OK), "anybody reads it");
    checks.expect_errno(as_user(1000, path.c_str(), W_OK), EACCES, "nobody else writes it");
    checks.expect_ok(::fchmod(made.get(), 0600), "chmod");
    checks.expect_errno(as_user(1000, path.c_str(), R_OK), EACCES, "nobody else reads it");
    checks.expect_ok(::umount2(place().c_str(), MNT_DETACH), "umount");
  };
  ASSERT_EQ(run_natively(body), "");
  EXPECT_EQ(run_in_sandbox(options(), body), "");
}

TEST_F(FuseMountTest, OpensAnImageWithTheCallersRights) {
  ASSERT_EQ(::chmod(image_.file().c_str(), 0444), 0);
  const auto mount = [&](unsigned long flags) {
    return forked([&, flags] {
      if (!set_capability(CAP_DAC_OVERRIDE, false) || !set_capability(CAP_DAC_READ_SEARCH, false)) {
        return -1;
      }
      return ::mount(image_.file().c_str(), place().c_str(), "ext4", flags, "norecovery");
    });
  };
  EXPECT_EQ(run_in_sandbox(options(),
                           [&](Checks& checks) {
                             const std::string path = place() + "/file";
                             checks.expect_errno(mount(0), EACCES, "to write a file of mode 0444");
                             checks.expect_ok(mount(MS_RDONLY), "to read it");
                             checks.expect_errno(::open(path.c_str(), O_CREAT | O_WRONLY, 0600),
                                                 EROFS, "read-only");
                             checks.expect_ok(::umount2(place().c_str(), 0), "umount");
                             checks.expect_ok(::chmod(image_.file().c_str(), 0), "chmod");
                             checks.expect_errno(mount(MS_RDONLY), EACCES, "not even to read");
                           }),
            "");
}

TEST_F(FuseMountTest, WhatIsNotListedIsTheKernels) {
  const std::string text = directory_.file("text");
  std::ofstream(text) << "no filesystem";
  ASSERT_EQ(::chmod(text.c_str(), 0666), 0);
  SandboxOptions other = options();
  other.program.instances[0].options.at("devices") = Texts{"b 7:255"};
  const auto mount = [&](const std::string& source, const char* type, unsigned long flags,
                         const char* data) {
    return ::mount(source.c_str(), place().c_str(), type, flags, data);
  };
  EXPECT_EQ(run_in_sandbox(
                other,
                [&](Checks& checks) {
                  const std::string& device = image_.device();
                  checks.expect_errno(mount(device, "ext4", 0, ""), EPERM, "a device");
                  checks.expect_errno(mount(device, "xfs", 0, ""), EPERM, "a type");
                  checks.expect_errno(mount(image_.file(), "ext4", 0, "debug"), EPERM, "an option");
                  checks.expect_errno(mount(image_.file(), "ext4", MS_I_VERSION, ""), EINVAL,
                                      "a flag that programs do not know");
                  checks.expect_errno(mount(text, "ext4", 0, ""), EINVAL, "not such a filesystem");
                  checks.expect_errno(mount("/dev", "ext4", 0, ""), ENOTBLK, "a directory");
                  checks.expect_errno(mount("/nowhere", "ext4", 0, ""), ENOENT, "no source");
                  checks.expect_errno(::mount(image_.file().c_str(), text.c_str(), "ext4", 0, ""),
                                      ENOTDIR, "no directory");
                }),
            "");
}

TEST_F(FuseMountTest, SaysThatTheProgramIsMissing) {
  EXPECT_EQ(run_in_sandbox(options("no-such-program"),
                           [&](Checks& checks) {
                             checks.expect_errno(
                                 ::mount(image_.file().c_str(), place().c_str(), "ext4", 0, ""),
                                 ENODEV, "mount");
                           }),
            "");
}

// What a program finds where it runs. A shell that says 127 is taken for a missing one: ENODEV.
TEST_F(FuseMountTest, AProgramSeesNothingOfTheHost) {
  const auto tried = [&](std::string script) {
    for (std::size_t at = 0; (at = script.find(' ', at)) != std::string::npos;) {
      script.replace(at, 1, "${IFS}");
    }
    return run_in_sandbox(options("sh -c " + script + "||exit${IFS}127"), [&](Checks& checks) {
      checks.expect_errno(::mount(image_.file().c_str(), place().c_str(), "ext4", 0, ""), ENODEV,
                          script);
    });
  };
  ASSERT_NE(tried("test -e /usr"), "") << "a script that succeeds is EINVAL";
  EXPECT_EQ(tried("test -e /etc/passwd"), "");
  EXPECT_EQ(tried("test -e /proc/self"), "");
  EXPECT_EQ(tried("test -e /sys/kernel"), "");
  EXPECT_EQ(tried("test -e /home"), "");
  EXPECT_EQ(tried("touch /usr/x"), "");
  EXPECT_EQ(tried("touch /x"), "");
  EXPECT_EQ(tried("mount -t tmpfs none /usr -o remount,rw"), "");
  EXPECT_EQ(tried("unshare -m true"), "");
  EXPECT_EQ(tried("chroot /usr true"), "");
}

}  // namespace
}  // namespace sidecall::testing
