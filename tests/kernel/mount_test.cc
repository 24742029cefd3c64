// The mount and umount emulators against real notifications, in a user namespace.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <optional>
#include <string>

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

class MountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ::chmod(directory_.path().c_str(), 0755);
    ::mkdir(place().c_str(), 0755);
    static_cast<void>(::chown(place().c_str(), kOutsideRoot, kOutsideRoot));
  }
  [[nodiscard]] std::string place() const { return directory_.path() + "/place"; }

  static std::string served(emulators::Options mount_options, const Body& body) {
    emulators::Options umount_options;
    if (const auto callers = mount_options.find("callers"); callers != mount_options.end()) {
      umount_options.emplace(*callers);
    }
    emulators::Program program =
        emulate("mount", std::move(mount_options), {{support::kNativeAbi, SYS_mount}});
    program.instances.push_back({.emulator = "umount", .options = std::move(umount_options)});
    emulators::Route umount{
        .abi = support::kNativeAbi, .nr = SYS_umount2, .name = "umount2", .rules = {}};
    umount.rules.push_back({.when = {},
                            .action = emulators::Rule::Action::kEmulate,
                            .number = 0,
                            .instance = 1,
                            .member = 0});
    program.routes.push_back(umount);
    SandboxOptions options{};
    options.program = std::move(program);
    return run_in_sandbox(options, body);
  }

  support::TemporaryDirectory directory_;
};

std::string line_of_mount(const std::string& place) {
  const auto text = read_file("/proc/self/mountinfo");
  if (!text) return text.error().message;
  std::string found;
  for (std::size_t at = 0; at < text->size();) {
    const auto end = std::min(text->find('\n', at), text->size());
    const auto line = text->substr(at, end - at);
    if (line.find(" " + place + " ") != std::string::npos) found = line;
    at = end + 1;
  }
  return found;
}

TEST_F(MountTest, MountsAListedDeviceForTheSandboxsRoot) {
  const DeviceImage image(directory_.path());
  if (image.device().empty()) GTEST_SKIP() << "no loop device or no mkfs.ext4";
  const emulators::Options options{{"filesystems", Texts{"ext4"}},
                                   {"devices", Texts{image.number()}}};
  const auto failures = served(options, [&](Checks& checks) {
    const std::string at = place();
    checks.expect_ok(::mount(image.device().c_str(), at.c_str(), "ext4", MS_NOEXEC, ""), "mount");
    const std::string line = line_of_mount(at);
    checks.expect(line.find("nodev") != std::string::npos, "nodev: " + line);
    checks.expect(line.find("noexec") != std::string::npos, "noexec: " + line);
    checks.expect(line.find(" " + image.device() + " ") != std::string::npos, "source: " + line);
    struct stat about {};
    checks.expect_ok(::stat(at.c_str(), &about), "stat");
    checks.expect(about.st_uid == 0 && about.st_gid == 0, "root's own files are root's");
    const int made = ::open((at + "/file").c_str(), O_CREAT | O_WRONLY, 0644);
    checks.expect_ok(made, "making a file");
    checks.expect_ok(::fstat(made, &about), "fstat");
    checks.expect(about.st_uid == 0, "a new file is the caller's");
    ::close(made);
    checks.expect_errno(::open((at + "/zero").c_str(), O_RDONLY), EACCES, "a device in the image");
    checks.expect_errno(
        ::mount(nullptr, at.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_NOEXEC, nullptr), EPERM,
        "taking nodev off");
    checks.expect_errno(::open((at + "/zero").c_str(), O_RDONLY), EACCES, "still");
    checks.expect_ok(::umount2(at.c_str(), 0), "umount");
    checks.expect_errno(::access((at + "/file").c_str(), F_OK), ENOENT, "gone");
  });
  EXPECT_EQ(failures, "");
}

TEST_F(MountTest, WhatIsNotListedIsTheKernels) {
  const DeviceImage image(directory_.path());
  if (image.device().empty()) GTEST_SKIP() << "no loop device or no mkfs.ext4";
  const emulators::Options options{{"filesystems", Texts{"ext4: noload"}},
                                   {"devices", Texts{"b 7:255"}}};
  const auto failures = served(options, [&](Checks& checks) {
    const std::string at = place();
    const char* device = image.device().c_str();
    checks.expect_errno(::mount(device, at.c_str(), "ext4", 0, ""), EPERM, "another device");
    checks.expect_errno(::mount(device, at.c_str(), "ext4", 0, "debug"), EPERM, "another option");
    checks.expect_errno(::mount(device, at.c_str(), "xfs", 0, ""), EPERM, "another type");
    checks.expect_errno(::mount(device, at.c_str(), "nosuchfs", 0, ""), ENODEV, "no type");
    checks.expect_errno(::mount(device, at.c_str(), nullptr, 0, ""), EINVAL, "no type given");
    checks.expect_errno(::mount("/dev/null", at.c_str(), "ext4", 0, ""), ENOTBLK,
                        "no block device");
    checks.expect_errno(::mount("/nowhere", at.c_str(), "ext4", 0, ""), ENOENT, "no such source");
    checks.expect_errno(::mount(device, "/nowhere", "ext4", 0, ""), ENOENT, "no such target");
    checks.expect_ok(::mount("none", at.c_str(), "tmpfs", 0, "size=1m"), "the kernel's own");
    checks.expect_ok(::umount2(at.c_str(), 0), "umount");
  });
  EXPECT_EQ(failures, "");
}

TEST_F(MountTest, RootWithoutTheCapabilityMountsWhatIsListed) {
  const emulators::Options options{{"filesystems", Texts{"tmpfs: size,mode", "overlay: *", "proc"}},
                                   {"callers", std::string("root")}};
  const auto failures = served(options, [&](Checks& checks) {
    const std::string at = place();
    checks.expect(drop_capability(CAP_SYS_ADMIN), "dropping CAP_SYS_ADMIN");
    checks.expect_errno(::mount("none", at.c_str(), "ramfs", 0, ""), EPERM, "not listed");
    checks.expect_errno(::mount("none", at.c_str(), "tmpfs", 0, "uid=1"), EPERM, "option");
    checks.expect_ok(::mount("none", at.c_str(), "tmpfs", MS_NOSUID, "size=1m,mode=755"), "tmpfs");
    struct stat about {};
    checks.expect_ok(::stat(at.c_str(), &about), "stat");
    checks.expect(about.st_uid == 0 && (about.st_mode & 07777) == 0755, "owner and mode");
    checks.expect(line_of_mount(at).find("nosuid") != std::string::npos, "nosuid");
    for (const char* name : {"/lower", "/upper", "/work", "/merged", "/proc"}) {
      checks.expect_ok(::mkdir((at + name).c_str(), 0755), name);
    }
    checks.expect_ok(::chdir(at.c_str()), "chdir");
    checks.expect_ok(::mkdir("lower/inside", 0755), "mkdir");
    checks.expect_ok(::mount("overlay", "merged", "overlay", 0,
                             "lowerdir=lower,upperdir=upper,workdir=work,userxattr"),
                     "overlay of relative paths");
    checks.expect_ok(::access("merged/inside", F_OK), "the lower layer shows");
    checks.expect_ok(::mkdir("merged/new", 0755), "writing to it");
    checks.expect_ok(::access("upper/new", F_OK), "the upper layer has it");
    checks.expect_ok(::mount("proc", "proc", "proc", MS_RDONLY, nullptr), "proc");
    struct statfs filesystem {};
    checks.expect_ok(::statfs("proc", &filesystem), "statfs");
    checks.expect(filesystem.f_type == 0x9fa0, "it is proc");
    checks.expect_errno(::umount2("/proc", MNT_DETACH), EPERM, "a mount of the sandbox's own");
    checks.expect_ok(::umount2("proc", 0), "umount proc");
    checks.expect_ok(::umount2("merged", 0), "umount overlay");
    checks.expect_ok(::chdir("/"), "chdir");
    checks.expect_errno(::umount2(at.c_str(), 0x100), EINVAL, "an unknown flag");
    checks.expect_ok(::umount2(at.c_str(), 0), "umount tmpfs");
    checks.expect_errno(::access((at + "/lower").c_str(), F_OK), ENOENT, "gone");
    ::setfsuid(1000);
    ::prctl(PR_SET_DUMPABLE, 1);
    checks.expect_errno(::mount("none", at.c_str(), "tmpfs", 0, ""), EPERM, "another user");
  });
  EXPECT_EQ(failures, "");
}

// As debootstrap does; and whoever may chroot(2) and so say what is called /proc binds nothing
// else.
TEST_F(MountTest, ProcInAChrootIsTheContainersOwn) {
  const emulators::Options options{{"filesystems", Texts{"proc"}},
                                   {"callers", std::string("root")}};
  const auto failures = served(options, [&](Checks& checks) {
    const std::string at = place();
    for (const char* name : {"/proc", "/proc/secret", "/mnt"}) {
      checks.expect_ok(::mkdir((at + name).c_str(), 0755), name);
    }
    checks.expect(drop_capability(CAP_SYS_ADMIN), "dropping CAP_SYS_ADMIN");
    checks.expect_ok(::chroot(at.c_str()), "chroot");
    checks.expect_ok(::mount("proc", "/mnt", "proc", 0, nullptr), "mount");
    checks.expect_ok(::access("/mnt/self/status", F_OK), "proc is there");
    checks.expect_errno(::access("/mnt/secret", F_OK), ENOENT, "and nothing else");
  });
  EXPECT_EQ(failures, "");
}

// As systemd mounts. Anybody may follow its own links; a thread that acts for it may not, where it
// lacks a capability of the caller's.
TEST_F(MountTest, OwnDescriptorsAreFollowedWithoutTheRightToLookIntoProcesses) {
  const Body body = [&](Checks& checks) {
    const std::string at = place();
    checks.expect_ok(::mkdir((at + "/below").c_str(), 0755), "mkdir");
    const int directory = ::open(at.c_str(), O_PATH | O_DIRECTORY);
    const std::string link = "/proc/self/fd/" + std::to_string(directory);
    checks.expect_ok(::mount("none", (link + "/below").c_str(), "tmpfs", 0, "size=1m"), "below");
    checks.expect(!line_of_mount(at + "/below").empty(), "below it is mounted");
    checks.expect_ok(::mount("none", link.c_str(), "tmpfs", 0, "size=1m"), "the link's directory");
    checks.expect(!line_of_mount(at).empty(), "it is mounted on");
    checks.expect_errno(::mount("none", "/proc/self/fd/99", "tmpfs", 0, ""), ENOENT, "no such one");
  };
  EXPECT_EQ(run_natively(body), "");
  ::rmdir((place() + "/below").c_str());
  const emulators::Options options{{"filesystems", Texts{"tmpfs: size"}},
                                   {"callers", std::string("root")}};
  EXPECT_EQ(served(options,
                   [&](Checks& checks) {
                     checks.expect(drop_capability(CAP_SYS_ADMIN), "dropping CAP_SYS_ADMIN");
                     checks.expect(drop_capability(CAP_SYS_PTRACE), "dropping CAP_SYS_PTRACE");
                     body(checks);
                   }),
            "");
}

class UmountTest : public MountTest {};

// A mount that an actor thread has worked in can be taken off: it stays nowhere.
TEST_F(UmountTest, NothingOfOursHoldsAMount) {
  const emulators::Options options{{"filesystems", Texts{"tmpfs: size"}},
                                   {"callers", std::string("root")}};
  const auto failures = served(options, [&](Checks& checks) {
    const std::string at = place();
    checks.expect_ok(::mount("none", at.c_str(), "tmpfs", 0, ""), "the kernel's own mount");
    checks.expect_ok(::chdir(at.c_str()), "chdir");
    checks.expect_ok(::mkdir("below", 0755), "mkdir");
    checks.expect(drop_capability(CAP_SYS_ADMIN), "dropping CAP_SYS_ADMIN");
    checks.expect_ok(::mount("none", "below", "tmpfs", 0, "size=1m"), "ours, from within");
    checks.expect_ok(::umount2("below", 0), "umount");
    checks.expect_ok(::chdir("/"), "chdir");
    checks.expect(set_capability(CAP_SYS_ADMIN, true), "taking CAP_SYS_ADMIN back");
    checks.expect_ok(::umount2(at.c_str(), 0), "the kernel's own umount: not busy");
  });
  EXPECT_EQ(failures, "");
}

}  // namespace
}  // namespace sidecall::testing
