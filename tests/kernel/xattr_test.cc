// The xattr emulator against real notifications. A body is first run natively, by root of the host,
// and then in a user namespace under sidecall, where the same must come out.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
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

constexpr const char* kOpaque = "trusted.overlay.opaque";
constexpr const char* kListed = "security.sidecall-test";
constexpr const char* kOther = "trusted.sidecall-other";
constexpr const char* kCapability = "security.capability";

using DirectoryBody = std::function<void(Checks&, const std::string& directory)>;

// In the order of the row's members; those that read come last.
std::vector<std::pair<Abi, int>> calls(bool reads) {
  std::vector<int> native = {SYS_setxattr,    SYS_lsetxattr,    SYS_fsetxattr,
                             SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr};
  if (reads) {
    native.insert(native.end(), {SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_listxattr,
                                 SYS_llistxattr, SYS_flistxattr});
  }
  std::vector<std::pair<Abi, int>> all;
  for (const int nr : native) all.emplace_back(kNativeAbi, nr);
#if defined(__x86_64__)
  for (const int nr : {226, 227, 228, 235, 236, 237, 229, 230, 231, 232, 233, 234}) {
    all.emplace_back(Abi::kI386, nr);
  }
#endif
  return all;
}

class Xattr : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
    make_directory("native", 0);
    make_directory("sandbox", kOutsideRoot);
  }
  // A directory with a file "file" and a link "link" to it, all of `owner`.
  void make_directory(const std::string& name, uid_t owner) const {
    const std::string path = directory_.file(name);
    ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
    const UniqueFd file(::open((path + "/file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    ASSERT_EQ(::symlink("file", (path + "/link").c_str()), 0);
    ASSERT_EQ(::fchown(file.get(), owner, owner), 0);
    ASSERT_EQ(::lchown((path + "/link").c_str(), owner, owner), 0);
    ASSERT_EQ(::chown(path.c_str(), owner, owner), 0);
  }
  void both(const DirectoryBody& body) {
    const std::string native = directory_.file("native");
    EXPECT_EQ(run_natively([&](Checks& checks) { body(checks, native); }), "") << "natively";
    EXPECT_EQ(sandboxed(body), "") << "in the sandbox";
  }
  std::string sandboxed(const DirectoryBody& body, bool reads = true) {
    const SandboxOptions options{
        .program =
            emulate("xattr",
                    {{"names", std::vector<std::string>{"trusted.overlay.*", kListed, kCapability}},
                     {"reads", reads}},
                    calls(reads)),
        .meanwhile = {}};
    const std::string path = directory_.file("sandbox");
    return run_in_sandbox(options, [&](Checks& checks) { body(checks, path); });
  }

  support::TemporaryDirectory directory_;
};

long set(const std::string& path, const char* name, std::string_view value, int flags = 0) {
  return ::setxattr(path.c_str(), name, value.data(), value.size(), flags);
}

// A page that nobody may touch; it goes with the process.
char* no_memory() {
  return static_cast<char*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

// The value, or an errno's name.
std::string get(const std::string& path, const char* name) {
  std::array<char, 256> value{};
  const ssize_t size = ::lgetxattr(path.c_str(), name, value.data(), value.size());
  return size < 0 ? errno_name(errno) : std::string(value.data(), static_cast<std::size_t>(size));
}

bool lists(const std::string& path, std::string_view name) {
  std::array<char, 1024> names{};
  const ssize_t size = ::llistxattr(path.c_str(), names.data(), names.size());
  const std::string_view all(names.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  return all.find(std::string(name) + '\0') != std::string_view::npos;
}

TEST_F(Xattr, SetsReadsAndRemoves) {
  both([](Checks& checks, const std::string& directory) {
    for (const char* name : {kOpaque, kListed}) {
      checks.expect_ok(set(directory, name, "y", XATTR_CREATE), "setxattr");
      checks.expect(get(directory, name) == "y", get(directory, name));
      checks.expect(lists(directory, name), "listed");
      checks.expect_errno(set(directory, name, "x", XATTR_CREATE), EEXIST, "create again");
      checks.expect_ok(set(directory, name, "longer", XATTR_REPLACE), "replace");
      checks.expect(get(directory, name) == "longer", get(directory, name));
      checks.expect_ok(::setxattr(directory.c_str(), name, nullptr, 0, 0), "no value");
      checks.expect(get(directory, name).empty(), "empty: " + get(directory, name));
      checks.expect_ok(::removexattr(directory.c_str(), name), "remove");
      checks.expect(get(directory, name) == "ENODATA", "gone: " + get(directory, name));
      checks.expect(!lists(directory, name), "no longer listed");
      checks.expect_errno(::removexattr(directory.c_str(), name), ENODATA, "remove again");
      checks.expect_errno(set(directory, name, "x", XATTR_REPLACE), ENODATA, "replace nothing");
      checks.expect_errno(set(directory, name, "x", XATTR_REPLACE | XATTR_CREATE), ENODATA, "both");
    }
  });
}

TEST_F(Xattr, MeansTheLinkOrWhereItLeads) {
  both([](Checks& checks, const std::string& directory) {
    const std::string link = directory + "/link";
    const std::string file = directory + "/file";
    checks.expect_ok(set(link, kOpaque, "file"), "through the link");
    checks.expect_ok(::lsetxattr(link.c_str(), kOpaque, "link", 4, 0), "the link");
    checks.expect(get(file, kOpaque) == "file", "the file's: " + get(file, kOpaque));
    checks.expect(get(link, kOpaque) == "link", "the link's: " + get(link, kOpaque));
    checks.expect_ok(::lremovexattr(link.c_str(), kOpaque), "the link's removed");
    checks.expect(get(link, kOpaque) == "ENODATA", "gone");
    const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 8> value{};
    checks.expect(::fgetxattr(fd.get(), kOpaque, value.data(), value.size()) == 4, "fgetxattr");
    checks.expect_ok(::fsetxattr(fd.get(), kOpaque, "fd", 2, 0), "fsetxattr");
    checks.expect(get(file, kOpaque) == "fd", "by descriptor: " + get(file, kOpaque));
    checks.expect_ok(::flistxattr(fd.get(), nullptr, 0), "flistxattr");
    checks.expect_ok(::fremovexattr(fd.get(), kOpaque), "fremovexattr");
    checks.expect(get(file, kOpaque) == "ENODATA", "gone");
  });
}

TEST_F(Xattr, ResolvesAsTheCallingThreadDoes) {
  both([](Checks& checks, const std::string& directory) {
    std::thread([&] {
      checks.expect_ok(::unshare(CLONE_FS), "unshare");
      checks.expect_ok(::chdir(directory.c_str()), "chdir");
      checks.expect_ok(set("file", kOpaque, "cwd"), "by the thread's directory");
    }).join();
    checks.expect(get(directory + "/file", kOpaque) == "cwd", "by the thread's directory");
    checks.expect_ok(forked([&] {
                       if (::chroot(directory.c_str()) != 0) return -1L;
                       return set("/../file", kOpaque, "root");
                     }),
                     "below another root");
    checks.expect(get(directory + "/file", kOpaque) == "root", "below another root");
    const UniqueFd fd(::open((directory + "/link").c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const std::string self = "/proc/self/fd/" + std::to_string(fd.get());
    checks.expect_ok(set(self, kOpaque, "self"), "through /proc/self");
    checks.expect(get(directory + "/link", kOpaque) == "self", "through /proc/self");
  });
}

TEST_F(Xattr, FailsAsTheKernelDoes) {
  both([](Checks& checks, const std::string& directory) {
    const std::string file = directory + "/file";
    const char* path = file.c_str();
    const char* nowhere = no_memory();
    const std::string longest = "trusted.overlay." + std::string(239, 'n');
    // In the order in which the kernel looks: each first fault hides the next.
    checks.expect_errno(::setxattr(nowhere, nowhere, nowhere, 1, 4), EINVAL, "flags");
    checks.expect_errno(::setxattr(nowhere, nowhere, nowhere, 1, 0), EFAULT, "name");
    checks.expect_errno(::setxattr(nowhere, "", nowhere, 1, 0), ERANGE, "empty name");
    checks.expect_errno(::setxattr(nowhere, (longest + "n").c_str(), nowhere, 1, 0), ERANGE, "256");
    checks.expect_errno(::setxattr(nowhere, kOpaque, nowhere, 65537, 0), E2BIG, "too big");
    checks.expect_errno(::setxattr(nowhere, kOpaque, nowhere, 1, 0), EFAULT, "value");
    checks.expect_errno(::setxattr(nowhere, kOpaque, nullptr, 0, 0), EFAULT, "path");
    checks.expect_errno(set("", kOpaque, "x"), ENOENT, "empty path");
    checks.expect_errno(set(std::string(4096, '/'), kOpaque, "x"), ENAMETOOLONG, "long path");
    checks.expect_errno(set(directory + "/none", kOpaque, "x"), ENOENT, "no file");
    checks.expect_errno(set(file + "/x", kOpaque, "x"), ENOTDIR, "below a file");
    checks.expect_errno(set(file + "/", kOpaque, "x"), ENOTDIR, "a slash after it");
    checks.expect_ok(set(file, longest.c_str(), "x"), "a name of 255 bytes");
    checks.expect_ok(::removexattr(path, longest.c_str()), "its removal");
    checks.expect_errno(::removexattr(nowhere, ""), ERANGE, "remove: name first");
    checks.expect_errno(::removexattr("", kOpaque), ENOENT, "remove: then the path");

    checks.expect_errno(::fsetxattr(-1, kOpaque, nowhere, 1, 0), EFAULT, "value before fd");
    checks.expect_errno(::fsetxattr(-1, kOpaque, "x", 1, 0), EBADF, "no fd");
    checks.expect_errno(::fsetxattr(4242, kOpaque, "x", 1, 0), EBADF, "a closed fd");
    const UniqueFd by_path(::open(path, O_PATH | O_CLOEXEC));
    checks.expect_errno(::fsetxattr(by_path.get(), kOpaque, "x", 1, 0), EBADF, "O_PATH");
    checks.expect_errno(::fremovexattr(by_path.get(), kOpaque), EBADF, "O_PATH");
    const UniqueFd ioctl_only(::open(path, 3 | O_CLOEXEC));
    checks.expect_ok(::fsetxattr(ioctl_only.get(), kOpaque, "x", 1, 0), "an fd of mode 3");
    checks.expect_ok(::removexattr(path, kOpaque), "removed");

    auto* page = static_cast<char*>(
        ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::munmap(page + 4096, 4096);
    checks.expect_errno(::setxattr(path, kOpaque, page + 4095, 2, 0), EFAULT, "half a value");
    checks.expect_ok(::setxattr(path, kOpaque, page + 4094, 2, 0), "up to the border");
    std::memset(page, 'n', 4096);
    checks.expect_errno(::setxattr(path, page + 4090, "x", 1, 0), EFAULT, "name without a NUL");
  });
}

TEST_F(Xattr, ReadsAsTheKernelDoes) {
  both([](Checks& checks, const std::string& directory) {
    const std::string file = directory + "/file";
    const char* path = file.c_str();
    char* nowhere = no_memory();
    std::array<char, 600> names{};
    const long empty = ::listxattr(path, nullptr, 0);
    checks.expect_ok(set(file, kOpaque, "1234"), "set");
    checks.expect(::getxattr(path, kOpaque, nullptr, 0) == 4, "the size");
    checks.expect_errno(::getxattr(path, kOpaque, nowhere, 3), ERANGE, "too small");
    checks.expect_errno(::getxattr(path, kOpaque, nowhere, 4), EFAULT, "nowhere");
    checks.expect_errno(::getxattr(path, "trusted.overlay.none", nowhere, 4), ENODATA, "none");
    checks.expect_errno(::getxattr(path, "", nowhere, 4), ERANGE, "empty name");
    checks.expect_errno(::getxattr("", kOpaque, nowhere, 4), ENOENT, "empty path");
    checks.expect_errno(::fgetxattr(-1, kOpaque, nowhere, 4), EBADF, "no fd");
    const long size = static_cast<long>(std::strlen(kOpaque)) + 1;
    checks.expect(::listxattr(path, nullptr, 0) == empty + size, "a list's size");
    checks.expect_errno(::listxattr(path, names.data(), 3), ERANGE, "a list too small");
    checks.expect_errno(::listxattr(path, nowhere, 600), EFAULT, "a list nowhere");
    checks.expect(::listxattr(path, names.data(), names.size()) == empty + size, "a list");
    checks.expect_errno(::flistxattr(-1, names.data(), names.size()), EBADF, "no fd");
    checks.expect_ok(::setxattr(path, kOpaque, nullptr, 0, 0), "no value");
    checks.expect(::getxattr(path, kOpaque, nowhere, 10) == 0, "nothing is written");
  });
}

TEST_F(Xattr, HonoursAReadOnlyMount) {
  both([](Checks& checks, const std::string& directory) {
    const char* path = directory.c_str();
    checks.expect_ok(set(directory, kOpaque, "x"), "before");
    checks.expect_ok(::mount(path, path, nullptr, MS_BIND, nullptr), "bind");
    checks.expect_ok(::mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr),
                     "read-only");
    checks.expect_errno(set(directory, kOpaque, "y"), EROFS, "setxattr");
    checks.expect_errno(::removexattr(path, kOpaque), EROFS, "removexattr");
    checks.expect(get(directory, kOpaque) == "x", "as it was");
  });
}

TEST_F(Xattr, RefusesWhoLacksTheCapability) {
  both([](Checks& checks, const std::string& directory) {
    checks.expect_ok(set(directory, kOpaque, "x"), "with it");
    checks.expect(drop_capability(CAP_SYS_ADMIN), "dropping it");
    checks.expect_errno(set(directory, kOpaque, "y"), EPERM, "setxattr");
    checks.expect_errno(set(directory + "/none", kOpaque, "y"), ENOENT, "the path first");
    checks.expect_errno(::removexattr(directory.c_str(), kOpaque), EPERM, "removexattr");
    checks.expect(get(directory, kOpaque) == "ENODATA", "not even to be seen");
    checks.expect(!lists(directory, kOpaque), "nor listed");
  });
}

TEST_F(Xattr, RefusesWhatIsNotTheSandboxs) {
  make_directory("foreign", 0);
  ASSERT_EQ(set(directory_.file("foreign"), kOpaque, "host"), 0);
  make_directory("shared", kOutsideRoot);
  ASSERT_EQ(::chown(directory_.file("shared").c_str(), kOutsideRoot, 0), 0);
  ASSERT_EQ(set(directory_.file("sandbox"), kOther, "host"), 0);
  const auto failures = sandboxed([&](Checks& checks, const std::string& directory) {
    checks.expect_errno(set(directory, kOther, "x"), EPERM, "not listed");
    checks.expect(get(directory, kOther) == "ENODATA", "nor to be read");
    checks.expect(!lists(directory, kOther), "nor in a list");
    for (const char* other : {"foreign", "shared"}) {
      const std::string path = directory_.file(other);
      checks.expect_errno(set(path, kOpaque, "x"), EPERM, other);
      checks.expect_errno(::removexattr(path.c_str(), kOpaque), EPERM, other);
      checks.expect(get(path, kOpaque) == "ENODATA", other);
      checks.expect(!lists(path, kOpaque), other);
    }
    checks.expect_errno(forked([&] {
                          if (::unshare(CLONE_NEWUSER) != 0) return -1L;
                          return set(directory, kOpaque, "x");
                        }),
                        EPERM, "in a user namespace of its own");
  });
  EXPECT_EQ(failures, "");
  EXPECT_EQ(get(directory_.file("foreign"), kOpaque), "host");
  EXPECT_EQ(get(directory_.file("sandbox"), kOther), "host");
}

TEST_F(Xattr, WithoutReadsShowsWhatTheKernelShows) {
  const auto failures = sandboxed(
      [](Checks& checks, const std::string& directory) {
        checks.expect_ok(set(directory, kOpaque, "y"), "setxattr");
        checks.expect(get(directory, kOpaque) == "ENODATA", "hidden");
        checks.expect(!lists(directory, kOpaque), "not listed");
      },
      false);
  EXPECT_EQ(failures, "");
  EXPECT_EQ(get(directory_.file("sandbox"), kOpaque), "y") << "the host sees it";
}

// Whatever a policy lists: the kernel stores for which user namespace the capability counts.
TEST_F(Xattr, LeavesFileCapabilitiesAndUserAttributesToTheKernel) {
  vfs_cap_data capability{};
  capability.magic_etc = VFS_CAP_REVISION_2;
  capability.data[0].permitted = 1U << CAP_NET_RAW;
  const std::string value(reinterpret_cast<const char*>(&capability), sizeof capability);
  both([&](Checks& checks, const std::string& directory) {
    checks.expect_ok(set(directory + "/file", kCapability, value), "security.capability");
    checks.expect(get(directory + "/file", kCapability) == value, "as it was set");
    checks.expect_ok(set(directory + "/file", "user.a", "b"), "user.a");
    checks.expect(get(directory + "/file", "user.a") == "b", "user.a reads back");
  });
  const std::string stored = get(directory_.file("sandbox") + "/file", kCapability);
  vfs_ns_cap_data with_root{};
  ASSERT_EQ(stored.size(), sizeof with_root);
  std::memcpy(&with_root, stored.data(), sizeof with_root);
  EXPECT_EQ(with_root.magic_etc, VFS_CAP_REVISION_3);
  EXPECT_EQ(with_root.rootid, kOutsideRoot);
  EXPECT_EQ(get(directory_.file("native") + "/file", kCapability), value);
}

// On tmpfs, which takes the kernel's largest value.
TEST_F(Xattr, CarriesTheLargestValue) {
  struct statfs about {};
  if (::statfs("/dev/shm", &about) != 0 || about.f_type != 0x01021994) {
    GTEST_SKIP() << "/dev/shm is no tmpfs";
  }
  for (const bool native : {true, false}) {
    const std::string path = "/dev/shm/sidecall-xattr-" + std::to_string(::getpid());
    ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
    ASSERT_EQ(::chown(path.c_str(), native ? 0 : kOutsideRoot, native ? 0 : kOutsideRoot), 0);
    const DirectoryBody body = [&](Checks& checks, const std::string&) {
      const std::string value(65536, 'v');
      checks.expect_ok(set(path, kOpaque, value), "setxattr");
      std::string back(65536, '\0');
      checks.expect(::getxattr(path.c_str(), kOpaque, back.data(), back.size()) == 65536, "size");
      checks.expect(back == value, "reads back");
    };
    EXPECT_EQ(native ? run_natively([&](Checks& checks) { body(checks, ""); }) : sandboxed(body),
              "");
    ::rmdir(path.c_str());
  }
}

#if defined(__x86_64__)
TEST_F(Xattr, Serves32BitCallers) {
  both([](Checks& checks, const std::string& directory) {
    char* low = low_page();
    directory.copy(low, 1000);
    std::strcpy(low + 1024, kOpaque);   // NOLINT(clang-analyzer-security.insecureAPI.strcpy)
    std::strcpy(low + 2048, "narrow");  // NOLINT(clang-analyzer-security.insecureAPI.strcpy)
    const std::uint64_t path = address_of(low);
    const std::uint64_t name = address_of(low + 1024);
    const std::uint64_t value = address_of(low + 2048);
    checks.expect_errno(call_i386(226, path, name, value, 6, 4), EINVAL, "flags");
    checks.expect_ok(call_i386(226, path, name, value, 6, XATTR_CREATE), "setxattr");
    checks.expect_errno(call_i386(227, path, name, value, 6, XATTR_CREATE), EEXIST, "lsetxattr");
    const std::uint64_t buffer = address_of(low + 3072);
    checks.expect(call_i386(229, path, name, buffer, 100) == 6, "getxattr");
    checks.expect(std::strcmp(low + 3072, "narrow") == 0, "the value");
    checks.expect_ok(call_i386(232, path, buffer, 1000), "listxattr");
    checks.expect_ok(call_i386(235, path, name), "removexattr");
    checks.expect_errno(call_i386(236, path, name), ENODATA, "lremovexattr");
  });
}
#endif

}  // namespace
}  // namespace sidecall::testing
