// The chown emulator, mode "perform", against real notifications: what root of the host may do,
// root of a sandbox may then do with ids of its own. Its other mode is in pretending_test.cc.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <thread>

#include "gtest/gtest.h"
#include "kernel/forked.h"
#include "kernel/i386.h"
#include "kernel/sandbox.h"
#include "support/native_abi.h"
#include "support/temporary_directory.h"

namespace sidecall::testing {
namespace {

using kernel::Abi;
using support::kNativeAbi;

constexpr uid_t kForeign = 50'000;  // which no sandbox has
constexpr uid_t kStays = ~0U;

using DirectoryBody = std::function<void(Checks&, const std::string& directory)>;

std::string performed(const Body& body) {
  std::vector<std::pair<Abi, int>> calls = {{kNativeAbi, SYS_chown},
                                            {kNativeAbi, SYS_lchown},
                                            {kNativeAbi, SYS_fchown},
                                            {kNativeAbi, SYS_fchownat}};
#if defined(__x86_64__)
  for (const int nr : {182, 16, 95, 298, 212, 198, 207}) calls.emplace_back(Abi::kI386, nr);
#endif
  const SandboxOptions options{
      .program = emulate("chown", {{"mode", std::string("perform")}}, calls), .meanwhile = {}};
  return run_in_sandbox(options, body);
}

// "0:0", the owner of what is there itself.
std::string owner_of(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) return errno_name(errno);
  return std::to_string(about.st_uid) + ":" + std::to_string(about.st_gid);
}

mode_t mode_of(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 ? about.st_mode & 07777U : 0;
}

class ChownPerform : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  }
  // A new directory, each time, with "file", "program", "link" to the file and "directory", all of
  // `owner`.
  std::string make_tree(uid_t owner) {
    std::string path = directory_.file("tree" + std::to_string(++trees_));
    EXPECT_EQ(::mkdir(path.c_str(), 0755), 0);
    EXPECT_EQ(::mkdir((path + "/directory").c_str(), 0755), 0);
    for (const char* name : {"/file", "/program"}) {
      ::close(::open((path + name).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    }
    EXPECT_EQ(::symlink("file", (path + "/link").c_str()), 0);
    for (const char* name : {"/file", "/program", "/link", "/directory", ""}) {
      EXPECT_EQ(::lchown((path + name).c_str(), owner, owner), 0);
    }
    EXPECT_EQ(::chmod((path + "/file").c_str(), 06644), 0);
    EXPECT_EQ(::chmod((path + "/program").c_str(), 06755), 0);
    return path;
  }
  // On files of an owner that the sandbox has not.
  void both(const DirectoryBody& body) {
    for (const bool native : {true, false}) {
      const std::string path = make_tree(kForeign);
      const Body on_path = [&](Checks& checks) { body(checks, path); };
      EXPECT_EQ(native ? run_natively(on_path) : performed(on_path), "")
          << (native ? "natively" : "in the sandbox");
    }
  }

  support::TemporaryDirectory directory_;
  int trees_ = 0;
};

TEST_F(ChownPerform, TakesOverFilesOfOthers) {
  both([](Checks& checks, const std::string& directory) {
    const std::string file = directory + "/file";
    const std::string link = directory + "/link";
    checks.expect_ok(::chown(link.c_str(), 5, 6), "chown");
    checks.expect(owner_of(file) == "5:6", "through the link: " + owner_of(file));
    checks.expect(owner_of(link) != "5:6", "not the link");
    checks.expect_ok(::lchown(link.c_str(), 7, 8), "lchown");
    checks.expect(owner_of(link) == "7:8", "the link: " + owner_of(link));
    const UniqueFd fd(::open((directory + "/directory").c_str(), O_RDONLY | O_CLOEXEC));
    checks.expect_ok(::fchown(fd.get(), 9, 10), "fchown");
    checks.expect(owner_of(directory + "/directory") == "9:10", "by descriptor");
    const UniqueFd at(::open(directory.c_str(), O_PATH | O_CLOEXEC));
    checks.expect_ok(::fchownat(at.get(), "", 11, 12, AT_EMPTY_PATH), "fchownat");
    checks.expect(owner_of(directory) == "11:12", "an O_PATH descriptor");
    checks.expect_ok(::fchownat(at.get(), "file", 13, 14, AT_SYMLINK_NOFOLLOW), "fchownat");
    checks.expect(owner_of(file) == "13:14", "what the kernel does itself by now");
    checks.expect_ok(::chdir(directory.c_str()), "chdir");
    checks.expect_ok(::fchownat(AT_FDCWD, "", 15, 16, AT_EMPTY_PATH), "fchownat of the directory");
    checks.expect(owner_of(directory) == "15:16", "the working directory");
  });
}

TEST_F(ChownPerform, LeavesAnIdThatIsNotGiven) {
  const std::string path = make_tree(kForeign);
  EXPECT_EQ(performed([&](Checks& checks) {
              checks.expect_ok(::chown((path + "/file").c_str(), 5, kStays), "the user alone");
              checks.expect_ok(::chown((path + "/directory").c_str(), kStays, 6),
                               "the group alone");
              checks.expect_ok(::chown(path.c_str(), kStays, kStays), "neither");
            }),
            "");
  EXPECT_EQ(owner_of(path + "/file"), "100005:50000");
  EXPECT_EQ(owner_of(path + "/directory"), "50000:100006");
  EXPECT_EQ(owner_of(path), "50000:50000");
}

TEST_F(ChownPerform, ClearsSetIdBitsAsTheKernelDoes) {
  both([](Checks& checks, const std::string& directory) {
    checks.expect_ok(::chown((directory + "/program").c_str(), 5, 6), "chown");
    checks.expect(mode_of(directory + "/program") == 0755, "both of a program");
    checks.expect_ok(::chown((directory + "/file").c_str(), 5, 6), "chown");
    checks.expect(mode_of(directory + "/file") == 02644, "one of what no group executes");
  });
  both([](Checks& checks, const std::string& directory) {
    checks.expect(drop_capability(CAP_FSETID), "dropping CAP_FSETID");
    checks.expect_ok(::chown((directory + "/file").c_str(), 5, 6), "chown");
    checks.expect(mode_of(directory + "/file") == 0644, "without CAP_FSETID both");
  });
  both([](Checks& checks, const std::string& directory) {
    checks.expect(drop_capability(CAP_FOWNER), "dropping CAP_FOWNER");
    checks.expect_errno(::chown((directory + "/file").c_str(), 5, 6), EPERM, "bits of another's");
    checks.expect_ok(::chown((directory + "/directory").c_str(), 5, 6), "without such bits");
  });
}

// The group that counts is the caller's, not that of who changes the owner for it.
TEST_F(ChownPerform, KeepsASetGroupIdBitForMembersOfTheGroup) {
  const auto bits_after = [&](gid_t group) {
    const std::string file = make_tree(kForeign) + "/file";
    EXPECT_EQ(::chown(file.c_str(), kForeign, group), 0);
    EXPECT_EQ(::chmod(file.c_str(), 02644), 0);
    EXPECT_EQ(performed([&](Checks& checks) {
                checks.expect(drop_capability(CAP_FSETID), "dropping CAP_FSETID");
                checks.expect_ok(::chown(file.c_str(), 5, 6), "chown");
              }),
              "");
    return mode_of(file);
  };
  EXPECT_EQ(bits_after(kOutsideRoot), 02644U) << "the caller's group";
  EXPECT_EQ(bits_after(0), 0644U) << "the group of the host's root";
}

TEST_F(ChownPerform, FailsAsTheKernelDoes) {
  both([](Checks& checks, const std::string& directory) {
    const std::string file = directory + "/file";
    char* nowhere = reinterpret_cast<char*>(8);  // NOLINT: an address of nothing
    checks.expect_errno(::syscall(SYS_fchownat, -1, nowhere, 0, 0, 0x400), EINVAL, "a flag");
    checks.expect_errno(::syscall(SYS_chown, nowhere, 0, 0), EFAULT, "path");
    checks.expect_errno(::chown("", 0, 0), ENOENT, "empty path");
    checks.expect_errno(::chown((file + "/x").c_str(), 0, 0), ENOTDIR, "below a file");
    checks.expect_errno(::chown((directory + "/none").c_str(), 0, 0), ENOENT, "nothing");
    checks.expect_errno(::chown(std::string(4096, '/').c_str(), 0, 0), ENAMETOOLONG, "long");
    checks.expect_errno(::fchown(-1, 0, 0), EBADF, "no descriptor");
    checks.expect_errno(::fchownat(4242, "x", 0, 0, 0), EBADF, "no directory");
    checks.expect_errno(::fchownat(4242, "", 0, 0, AT_EMPTY_PATH), EBADF, "no file");
    const UniqueFd by_path(::open(file.c_str(), O_PATH | O_CLOEXEC));
    checks.expect_errno(::fchown(by_path.get(), 0, 0), EBADF, "O_PATH");
    const char* path = directory.c_str();
    checks.expect_ok(::mount(path, path, nullptr, MS_BIND, nullptr), "bind");
    checks.expect_ok(::mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr),
                     "read-only");
    checks.expect_errno(::chown(file.c_str(), 5, 5), EROFS, "read-only");
    checks.expect(drop_capability(CAP_CHOWN), "dropping CAP_CHOWN");
    checks.expect_errno(::chown(file.c_str(), 5, 5), EROFS, "read-only");
  });
  both([](Checks& checks, const std::string& directory) {
    checks.expect(drop_capability(CAP_CHOWN), "dropping CAP_CHOWN");
    checks.expect_errno(::chown((directory + "/file").c_str(), 5, 5), EPERM, "without it");
  });
}

TEST_F(ChownPerform, ResolvesAsTheCallingThreadDoes) {
  both([](Checks& checks, const std::string& directory) {
    std::thread([&] {
      checks.expect_ok(::unshare(CLONE_FS), "unshare");
      checks.expect_ok(::chdir(directory.c_str()), "chdir");
      checks.expect_ok(::chown("directory/../file", 5, 6), "by the thread's directory");
    }).join();
    checks.expect(owner_of(directory + "/file") == "5:6", "by the thread's directory");
    checks.expect_ok(forked([&] {
                       if (::chroot(directory.c_str()) != 0) return -1;
                       return ::chown("/../directory", 7, 8);
                     }),
                     "below another root");
    checks.expect(owner_of(directory + "/directory") == "7:8", "below another root");
  });
}

TEST_F(ChownPerform, RefusesWhatIsNotForTheSandbox) {
  const std::string path = make_tree(kForeign);
  ASSERT_EQ(::mknod((path + "/null").c_str(), S_IFCHR | 0600, ::makedev(1, 3)), 0);
  // For sysfs and its kin, which are better left alone.
  const std::string other = directory_.file("ramfs");
  ASSERT_EQ(::mkdir(other.c_str(), 0755), 0);
  ASSERT_EQ(::mount("ramfs", other.c_str(), "ramfs", 0, nullptr), 0);
  const auto failures = performed([&](Checks& checks) {
    const std::string file = path + "/file";
    checks.expect_errno(::chown(file.c_str(), 70'000, 0), EINVAL, "an id that it has not");
    checks.expect_errno(::chown((path + "/null").c_str(), 0, 0), EPERM, "a device node");
    checks.expect_errno(::chown(other.c_str(), 0, 0), EPERM, "a filesystem of another kind");
    checks.expect_errno(forked([&] {
                          if (::unshare(CLONE_NEWUSER) != 0) return -1;
                          return ::chown(file.c_str(), 0, 0);
                        }),
                        EINVAL, "in a user namespace of its own");
  });
  EXPECT_EQ(failures, "");
  EXPECT_EQ(owner_of(path + "/file"), "50000:50000");
  EXPECT_EQ(owner_of(other), "0:0");
  ::umount2(other.c_str(), MNT_DETACH);
}

#if defined(__x86_64__)
TEST_F(ChownPerform, Serves32BitCallers) {
  both([](Checks& checks, const std::string& directory) {
    char* low = low_page();
    directory.copy(low, 1000);
    const std::uint64_t path = address_of(low);
    checks.expect_ok(call_i386(182, path, 5, 6), "chown of 16 bits");
    checks.expect(owner_of(directory) == "5:6", owner_of(directory));
    checks.expect_ok(call_i386(182, path, 0xffff, 0x50007), "16 bits count");
    checks.expect(owner_of(directory) == "5:7", "-1 of 16 bits: " + owner_of(directory));
    checks.expect_ok(call_i386(212, path, 8, 0xffffffff), "chown32");
    checks.expect(owner_of(directory) == "8:7", "-1 of 32 bits: " + owner_of(directory));
    const UniqueFd fd(::open((directory + "/file").c_str(), O_RDONLY | O_CLOEXEC));
    const auto number = static_cast<std::uint64_t>(fd.get());
    checks.expect_ok(call_i386(207, number, 9, 10), "fchown32");
    checks.expect(owner_of(directory + "/file") == "9:10", owner_of(directory + "/file"));
    checks.expect_ok(call_i386(298, number, address_of(low + 2000), 11, 12, AT_EMPTY_PATH), "at");
    checks.expect(owner_of(directory + "/file") == "11:12", owner_of(directory + "/file"));
  });
}
#endif

}  // namespace
}  // namespace sidecall::testing
