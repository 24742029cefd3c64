// The emulators against real notifications. A body is first run natively, where the kernel gives
// the verdicts, and then in a user namespace under sidecall, where the same must come out.
#include <fcntl.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "gtest/gtest.h"
#include "kernel/forked.h"
#include "kernel/sandbox.h"

namespace sidecall::testing {
namespace {

using kernel::Abi;

#if defined(__x86_64__)
constexpr Abi kNative = Abi::kX86_64;
#else
constexpr Abi kNative = Abi::kAArch64;
#endif

// A directory that root of the sandbox owns and where device nodes can be opened.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(uid_t owner) {
    std::string name = (std::filesystem::temp_directory_path() / "sidecall-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return;
    path_ = name;
    ::chmod(path_.c_str(), 0755);
    static_cast<void>(::chown(path_.c_str(), owner, owner));
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool forbids_devices() const {
    struct statvfs about {};
    return ::statvfs(path_.c_str(), &about) != 0 || (about.f_flag & ST_NODEV) != 0;
  }

 private:
  std::string path_;
};

long make(const std::string& path, mode_t mode, unsigned major, unsigned minor) {
  return ::mknod(path.c_str(), mode, ::makedev(major, minor));
}

// Changes the filesystem id, which hides the process from the sandbox's root too until it is
// dumpable again. (After an execve(2) in the sandbox it would not: then it is the sandbox's own.)
void act_as(uid_t user) {
  ::setfsuid(user);
  ::prctl(PR_SET_DUMPABLE, 1);
}

class Mknod : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (native_directory_.forbids_devices()) GTEST_SKIP() << "the temporary directory is nodev";
  }
  // Runs the body on both sides and wants both to be fine.
  void both(const std::function<void(Checks&, const std::string& directory)>& body) {
    EXPECT_EQ(run_natively([&](Checks& checks) { body(checks, native_directory_.path()); }), "")
        << "natively";
    sandboxed(body);
  }
  void sandboxed(const std::function<void(Checks&, const std::string& directory)>& body) {
    const SandboxOptions options{
        .program = emulate("mknod", {{"devices", std::vector<std::string>{"c 1:3", "c 1:5"}}},
                           {{kNative, SYS_mknod}, {kNative, SYS_mknodat}}),
        .meanwhile = {}};
    EXPECT_EQ(
        run_in_sandbox(options, [&](Checks& checks) { body(checks, sandbox_directory_.path()); }),
        "")
        << "in the sandbox";
  }

 private:
  ScratchDirectory native_directory_{0};
  ScratchDirectory sandbox_directory_{kOutsideRoot};
};

TEST_F(Mknod, MakesNodesThatWork) {
  both([](Checks& checks, const std::string& directory) {
    checks.expect_ok(make(directory + "/null", S_IFCHR | 0666, 1, 3), "mknod null");
    const int null = ::open((directory + "/null").c_str(), O_WRONLY);
    checks.expect_ok(null, "open null");
    checks.expect(::write(null, "x", 1) == 1, "writing to null");
    checks.expect_ok(make(directory + "/zero", S_IFCHR | 0600, 1, 5), "mknod zero");
    const int zero = ::open((directory + "/zero").c_str(), O_RDONLY);
    char byte = 1;
    checks.expect(::read(zero, &byte, 1) == 1 && byte == 0, "reading zero");
  });
}

TEST_F(Mknod, GivesTheCallersOwnerAndUmask) {
  both([](Checks& checks, const std::string& directory) {
    const std::string path = directory + "/node";
    ::umask(027);
    checks.expect_ok(make(path, S_IFCHR | 0666, 1, 3), "mknod");
    struct stat status {};
    checks.expect_ok(::stat(path.c_str(), &status), "stat");
    checks.expect(status.st_uid == 0 && status.st_gid == 0, "owned by the caller");
    checks.expect((status.st_mode & 07777) == 0640, "mode under the umask");
    checks.expect(status.st_rdev == ::makedev(1, 3), "device number");
  });
}

TEST_F(Mknod, ResolvesAsTheCallingThreadDoes) {
  both([](Checks& checks, const std::string& directory) {
    checks.expect_ok(::mkdir((directory + "/a").c_str(), 0755), "mkdir");
    checks.expect_ok(::symlink("/a", (directory + "/absolute").c_str()), "symlink");
    const auto exists = [&](const std::string& name) {
      return ::access((directory + name).c_str(), F_OK) == 0;
    };
    const int dirfd = ::open((directory + "/a").c_str(), O_RDONLY | O_DIRECTORY);
    checks.expect_ok(::mknodat(dirfd, "by-dirfd", S_IFCHR | 0600, ::makedev(1, 3)), "mknodat");
    checks.expect(exists("/a/by-dirfd"), "relative to a directory descriptor");

    std::thread([&] {
      // A thread that is not the leader and has a working directory of its own.
      checks.expect_ok(::unshare(CLONE_FS), "unshare");
      checks.expect_ok(::chdir((directory + "/a").c_str()), "chdir");
      checks.expect_ok(make("by-cwd", S_IFCHR | 0600, 1, 3), "mknod in a thread");
      checks.expect_ok(make("../by-dotdot", S_IFCHR | 0600, 1, 3), "mknod through ..");
    }).join();
    checks.expect(exists("/a/by-cwd"), "relative to the thread's directory");
    checks.expect(exists("/by-dotdot"), "through dot-dot");

    checks.expect_ok(forked([&] {
                       if (::chroot(directory.c_str()) != 0 || ::chdir("/") != 0) return -1L;
                       return make("/absolute/../../../a/by-root", S_IFCHR | 0600, 1, 3);
                     }),
                     "mknod below another root");
    checks.expect(exists("/a/by-root"), "absolute link and dot-dot stay below the caller's root");
  });
}

TEST_F(Mknod, FailsAsTheKernelDoes) {
  both([](Checks& checks, const std::string& directory) {
    const mode_t mode = S_IFCHR | 0600;
    checks.expect_ok(make(directory + "/there", mode, 1, 3), "mknod");
    checks.expect_errno(make(directory + "/there", mode, 1, 3), EEXIST, "again");
    checks.expect_errno(make(directory + "/none/x", mode, 1, 3), ENOENT, "no directory");
    checks.expect_errno(make(directory + "/there/x", mode, 1, 3), ENOTDIR, "below a node");
    checks.expect_errno(make("", mode, 1, 3), ENOENT, "empty path");
    checks.expect_errno(make(directory + "/" + std::string(256, 'n'), mode, 1, 3), ENAMETOOLONG,
                        "name of 256 bytes");
    checks.expect_errno(make(std::string(4096, '/'), mode, 1, 3), ENAMETOOLONG, "path of 4096");
    checks.expect_errno(make(std::string(4095, '/'), mode, 1, 3), EEXIST, "path of 4095");
    checks.expect_ok(::symlink("loop", (directory + "/loop").c_str()), "symlink");
    checks.expect_errno(make(directory + "/loop/x", mode, 1, 3), ELOOP, "loop of links");
    checks.expect_ok(::symlink("nowhere", (directory + "/dangling").c_str()), "symlink");
    checks.expect_errno(make(directory + "/dangling", mode, 1, 3), EEXIST, "dangling link");
    checks.expect_errno(::mknodat(4242, "x", mode, ::makedev(1, 3)), EBADF, "bad dirfd");
    checks.expect_errno(::syscall(SYS_mknod, nullptr, mode, 0x103), EFAULT, "NULL path");
    auto* page = static_cast<char*>(
        ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::munmap(page + 4096, 4096);
    std::memset(page, 'p', 4096);
    checks.expect_errno(::syscall(SYS_mknod, page + 4000, mode, 0x103), EFAULT, "no NUL");
    ::mprotect(page, 4096, PROT_NONE);
    checks.expect_errno(::syscall(SYS_mknod, page, mode, 0x103), EFAULT, "unreadable page");
  });
}

TEST_F(Mknod, LeavesOtherFilesAndWhiteoutsToTheKernel) {
  both([](Checks& checks, const std::string& directory) {
    checks.expect_ok(make(directory + "/fifo", S_IFIFO | 0600, 0, 0), "fifo");
    checks.expect_ok(make(directory + "/file", S_IFREG | 0600, 0, 0), "regular file");
    checks.expect_ok(make(directory + "/whiteout", S_IFCHR, 0, 0), "whiteout");
    checks.expect_errno(make(directory + "/dir", S_IFDIR | 0700, 0, 0), EPERM, "directory");
  });
}

TEST_F(Mknod, RefusesWhoLacksTheCapability) {
  both([](Checks& checks, const std::string& directory) {
    ::chmod(directory.c_str(), 0777);
    checks.expect_errno(forked([&] {
                          act_as(1234);  // drops CAP_MKNOD from the effective set
                          return make(directory + "/x", S_IFCHR | 0600, 1, 3);
                        }),
                        EPERM, "without CAP_MKNOD");
    ::chmod(directory.c_str(), 0755);
    checks.expect_errno(forked([&] {
                          act_as(1234);
                          return make(directory + "/x", S_IFCHR | 0600, 1, 3);
                        }),
                        EACCES, "without the right to write the directory");
  });
}

// As the container's runtime is before its execve(2): not for the sandbox's own root to look at.
TEST_F(Mknod, LeavesWhomItMayNotLookAtToTheKernel) {
  sandboxed([](Checks& checks, const std::string& directory) {
    checks.expect_errno(forked([&] {
                          ::prctl(PR_SET_DUMPABLE, 0);
                          return make(directory + "/x", S_IFCHR | 0600, 1, 3);
                        }),
                        EPERM, "not dumpable");
    checks.expect_ok(make(directory + "/x", S_IFCHR | 0600, 1, 3), "the next is served");
  });
}

// The caller's own rights over directories count, as the kernel weighs them.
TEST_F(Mknod, UsesTheCallersRightOverDirectories) {
  both([](Checks& checks, const std::string& directory) {
    const std::string closed = directory + "/closed";
    checks.expect_ok(::mkdir(closed.c_str(), 0555), "mkdir");
    checks.expect_ok(make(closed + "/a", S_IFCHR | 0600, 1, 3),
                     "in a directory without write bits");
    const std::string foreign = directory + "/foreign";
    checks.expect_ok(::mkdir(foreign.c_str(), 0700), "mkdir");
    checks.expect_ok(::chown(foreign.c_str(), 1234, 1234), "chown");
    checks.expect_ok(make(foreign + "/a", S_IFCHR | 0600, 1, 3), "in another user's directory");
    checks.expect_errno(make(foreign + "/a", S_IFCHR | 0600, 1, 3), EEXIST, "again");
    struct stat status {};
    checks.expect_ok(::stat((foreign + "/a").c_str(), &status), "stat");
    checks.expect(status.st_uid == 0 && status.st_gid == 0, "owned by the caller");
  });
}

TEST_F(Mknod, ProcSelfIsTheCallersOwn) {
  both([](Checks& checks, const std::string& directory) {
    const int dirfd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY);
    const std::string below = "/proc/self/fd/" + std::to_string(dirfd);
    checks.expect_ok(make(below + "/a", S_IFCHR | 0600, 1, 3), "below /proc/self/fd");
    std::thread([&] {
      const std::string there = "/proc/thread-self/fd/" + std::to_string(dirfd);
      checks.expect_ok(make(there + "/b", S_IFCHR | 0600, 1, 3), "below /proc/thread-self/fd");
    }).join();
    checks.expect_ok(::access((directory + "/a").c_str(), F_OK), "the first is there");
    checks.expect_ok(::access((directory + "/b").c_str(), F_OK), "the second is there");
  });
}

TEST_F(Mknod, RefusesWhatIsNotListed) {
  sandboxed([](Checks& checks, const std::string& directory) {
    checks.expect_errno(make(directory + "/sda", S_IFBLK | 0600, 8, 0), EPERM, "block 8:0");
    checks.expect_errno(make(directory + "/mem", S_IFCHR | 0600, 1, 1), EPERM, "character 1:1");
    checks.expect_errno(make(directory + "/b", S_IFBLK | 0600, 1, 3), EPERM, "listed, wrong type");
    checks.expect_errno(forked([&] {
                          if (::unshare(CLONE_NEWUSER) != 0) return -1L;
                          return make(directory + "/x", S_IFCHR | 0600, 1, 3);
                        }),
                        EPERM, "in a user namespace of its own");
  });
}

// A filesystem of the sandbox's own user namespace, on which the kernel lets nobody open a device.
TEST_F(Mknod, MountsANodeWhereNoneWouldWork) {
  SandboxOptions options{};
  options.program =
      emulate("mknod", {{"devices", std::vector<std::string>{"c 1:5"}}, {"bind", true}},
              {{kNative, SYS_mknod}, {kNative, SYS_mknodat}});
  const auto failures = run_in_sandbox(options, [](Checks& checks) {
    checks.expect_ok(::mount("none", "/mnt", "tmpfs", 0, nullptr), "tmpfs");
    ::umask(0);
    checks.expect_ok(make("/mnt/zero", S_IFCHR | 0640, 1, 5), "mknod");
    const int zero = ::open("/mnt/zero", O_RDONLY);
    char byte = 1;
    checks.expect(::read(zero, &byte, 1) == 1 && byte == 0, "reading zero");
    struct stat status {};
    checks.expect_ok(::stat("/mnt/zero", &status), "stat");
    checks.expect(S_ISCHR(status.st_mode) && (status.st_mode & 07777) == 0640, "type and mode");
    checks.expect(status.st_uid == 0 && status.st_rdev == ::makedev(1, 5), "owner and number");
    checks.expect_errno(make("/mnt/zero", S_IFCHR | 0640, 1, 5), EEXIST, "again");
  });
  EXPECT_EQ(failures, "");
}

class Sysinfo : public ::testing::Test {
 protected:
  static void served(const Body& body, bool with_i386 = false) {
    std::vector<std::pair<Abi, int>> calls{{kNative, SYS_sysinfo}};
    if (with_i386) calls.emplace_back(Abi::kI386, 116);
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    EXPECT_EQ(run_in_sandbox({.program = emulate("sysinfo", {}, calls), .meanwhile = {}}, body),
              "");
  }
};

TEST_F(Sysinfo, ShowsTheSandbox) {
  struct sysinfo host {};
  ASSERT_EQ(::sysinfo(&host), 0);
  served([&host](Checks& checks) {
    struct sysinfo info {};
    std::memset(&info, 0xa5, sizeof info);
    checks.expect_ok(::sysinfo(&info), "sysinfo");
    checks.expect(info.totalram > 0 && info.totalram <= host.totalram, "total memory");
    checks.expect(info.freeram <= info.totalram, "free memory");
    checks.expect(info.mem_unit == 1, "unit");
    checks.expect(info.uptime >= 0 && info.uptime <= host.uptime, "uptime");
    checks.expect(info.uptime < 600, "uptime is the sandbox's, not the host's");
  });
}

void bad_buffers(Checks& checks, long nr) {
  auto* pages = static_cast<char*>(
      ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  checks.expect_errno(::syscall(nr, nullptr), EFAULT, "NULL");
  checks.expect_errno(::syscall(nr, ~0UL), EFAULT, "the last byte");
  checks.expect_errno(::syscall(nr, 0xffff800000000000UL), EFAULT, "the kernel's half");
  ::mprotect(pages + 4096, 4096, PROT_READ);
  checks.expect_errno(::syscall(nr, pages + 4096), EFAULT, "a read-only page");
  checks.expect_errno(::syscall(nr, pages + 4096 - 40), EFAULT, "half on a read-only page");
  checks.expect_ok(::syscall(nr, pages), "a writable page");
  ::munmap(pages + 4096, 4096);
  checks.expect_errno(::syscall(nr, pages + 4096 - 40), EFAULT, "half unmapped");
}

TEST_F(Sysinfo, FailsAsTheKernelDoes) {
  const Body body = [](Checks& checks) { bad_buffers(checks, SYS_sysinfo); };
  EXPECT_EQ(run_natively(body), "");
  served(body);
}

#if defined(__x86_64__)
// A call of the 32-bit ABI from a 64-bit program; pointers must lie below 4 GiB.
long call_i386(long nr, void* argument) {
  long result = 0;
  const auto low = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(argument));
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(nr), "b"(low)
                   : "memory", "r8", "r9", "r10", "r11");
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

std::uint32_t* low_page() {
  return static_cast<std::uint32_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
}

TEST_F(Sysinfo, SpeaksTheLayoutOf32BitCallers) {
  struct sysinfo host {};
  ASSERT_EQ(::sysinfo(&host), 0);
  const Body body = [&host](Checks& checks) {
    std::uint32_t* words = low_page();
    words[16] = 0x5a5a5a5a;
    checks.expect_ok(call_i386(116, words), "sysinfo of i386");
    const std::uint64_t unit = words[13];
    checks.expect(unit >= 1 && unit <= 4096, "mem_unit");
    checks.expect(words[4] * unit <= host.totalram && words[4] > 0, "totalram");
    checks.expect(words[5] <= words[4], "freeram");
    checks.expect(words[16] == 0x5a5a5a5a, "nothing past the structure's 64 bytes");
  };
  EXPECT_EQ(run_natively(body), "");
  served(body, true);
}
#endif

class Uname : public ::testing::Test {
 protected:
  static void served(emulators::Options options, const Body& body) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    EXPECT_EQ(
        run_in_sandbox({.program = emulate("uname", std::move(options), {{kNative, SYS_uname}}),
                        .meanwhile = {}},
                       body),
        "");
  }
};

TEST_F(Uname, TellsWhatThePolicySays) {
  utsname host{};
  ASSERT_EQ(::uname(&host), 0);
  served({{"release", std::string("5.10.0-sidecall")}, {"version", std::string("#1 test")}},
         [host](Checks& checks) {
           utsname names{};
           checks.expect_ok(::sethostname("inside", 6), "sethostname");
           checks.expect_ok(::uname(&names), "uname");
           checks.expect(std::string(names.release) == "5.10.0-sidecall", "release");
           checks.expect(std::string(names.version) == "#1 test", "version");
           checks.expect(std::string(names.nodename) == "inside", "nodename of its namespace");
           checks.expect(std::string(names.machine) == host.machine, "machine");
           checks.expect(std::string(names.sysname) == host.sysname, "sysname");
         });
}

TEST_F(Uname, AnswersForTheCallersOwnNamespace) {
  served({{"release", std::string("5.10.0")}}, [](Checks& checks) {
    checks.expect_ok(::sethostname("outer", 5), "sethostname");
    checks.expect_ok(forked([] {
                       utsname names{};
                       if (::unshare(CLONE_NEWUTS) != 0 || ::sethostname("inner", 5) != 0)
                         return -1;
                       if (::uname(&names) != 0) return -1;
                       errno = ENOTUNIQ;
                       return std::string(names.nodename) == "inner" ? 0 : -1;
                     }),
                     "in a UTS namespace of its own");
    utsname names{};
    checks.expect_ok(::uname(&names), "uname");
    checks.expect(std::string(names.nodename) == "outer", "back in the sandbox's");
  });
}

TEST_F(Uname, FailsAsTheKernelDoes) {
  const Body body = [](Checks& checks) { bad_buffers(checks, SYS_uname); };
  EXPECT_EQ(run_natively(body), "");
  served({{"nodename", std::string("n")}}, body);
}

}  // namespace
}  // namespace sidecall::testing
