// Which thread asks: what is one thread's own is not the process's.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "grid/caller.h"
#include "grid/mknod.h"

namespace sidecall::grid {
namespace {

constexpr Case kCases[] = {
    {"thread", Off::kFails,
     [](const Checks& check) {
       in_thread([&] { check.gives("mknod", make_node("node"), 0); });
       check.holds("it is there", is_node(check.path("node")));
     }},
    {"thread with a working directory of its own", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       in_thread_with_own_directory(check, [&] {
         check.arrange("chdir", ::chdir("a") == 0);
         check.gives("mknod", make_node("node"), 0);
         check.gives("mknodat", make_node_at(AT_FDCWD, "../other"), 0);
       });
       check.gives("mknod by the first thread", make_node("third"), 0);
       check.holds("it is in the thread's directory", is_node(check.path("a/node")));
       check.holds("the other is above it", is_node(check.path("other")));
       check.holds("the third is in the process's", is_node(check.path("third")));
     }},
    {"thread with a root of its own", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "jail");
       in_thread_with_own_directory(check, [&] {
         check.arrange("chroot", ::chroot("jail") == 0);
         check.gives("mknod", make_node("/node"), 0);
       });
       check.holds("it is below the thread's root", is_node(check.path("jail/node")));
     }},
    {"thread with a umask of its own", Off::kFails,
     [](const Checks& check) {
       in_thread_with_own_directory(check, [&] {
         ::umask(077);
         check.gives("mknod", make_node("node", S_IFCHR | 0666), 0);
       });
       struct stat status {};
       check.holds("it has the thread's mode",
                   ::lstat("node", &status) == 0 && (status.st_mode & 0777) == 0600);
     }},
    {"thread with descriptors of its own", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_directory(check, "b");
       const int dirfd = open_descriptor(check, "a", O_RDONLY);
       in_thread([&] {
         check.arrange("unshare CLONE_FILES", ::unshare(CLONE_FILES) == 0);
         check.arrange("dup2", ::dup2(open_descriptor(check, "b", O_RDONLY), dirfd) == dirfd);
         check.gives("mknodat", make_node_at(dirfd, "node"), 0);
       });
       check.holds("it is where the thread's descriptor leads", is_node(check.path("b/node")));
       check.holds("and nowhere else", !exists(check.path("a/node")));
     }},
    {"thread with a mount namespace of its own", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       in_thread([&] {
         own_mounts(check);
         check.arrange("tmpfs", ::mount("none", "a", "tmpfs", 0, nullptr) == 0);
         check.gives("mknod", make_node(check.path("a/node")), 0);
         check.holds("it is in the mount", is_node(check.path("a/node")));
       });
       check.holds("and nowhere else", !exists(check.path("a/node")));
     }},
    {"thread without CAP_MKNOD", Off::kFails,
     [](const Checks& check) {
       in_thread([&] {
         drop_capability(check, CAP_MKNOD);
         check.fails("mknod", make_node("node"), EPERM);
       });
       check.gives("mknod by the first thread", make_node("node"), 0);
     }},
    {"thread that alone has CAP_MKNOD", Off::kFails,
     [](const Checks& check) {
       std::array<int, 2> go{};
       check.arrange("pipe", ::pipe(go.data()) == 0);
       std::thread other([&] {
         char byte = 0;
         check.arrange("waiting", ::read(go[0], &byte, 1) == 1);
         check.gives("mknod", make_node("node"), 0);
       });
       drop_capability(check, CAP_MKNOD);
       check.fails("mknod by the first thread", make_node("node"), EPERM);
       check.arrange("going on", ::write(go[1], "", 1) == 1);
       other.join();
     }},
    {"thread with filesystem ids of its own", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_directory(check, "b");
       change_owner(check, "b", 1234, 0);
       in_thread([&] {
         act_as(check, {.uid = 1234, .gid = 2345}, {CAP_MKNOD});
         check.fails("mknod where root may", make_node("a/node"), EACCES);
         check.gives("mknod where it may itself", make_node("b/node"), 0);
       });
       struct stat status {};
       check.holds("it is the thread's", ::lstat("b/node", &status) == 0 && status.st_uid == 1234 &&
                                             status.st_gid == 2345);
     }},
    {"thread that has outlived the first", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       const int dirfd = open_descriptor(check, "a", O_RDONLY);
       in_child(check, [&] {
         const pid_t process = ::getpid();
         std::thread([&check, process, dirfd] {
           // The first thread's status says that it is a zombie, once it has ended.
           const std::string path = "/proc/" + std::to_string(process) + "/cwd";
           while (::access(path.c_str(), F_OK) == 0) ::sched_yield();
           check.gives("mknod", make_node("node"), 0);
           check.gives("mknodat", make_node_at(dirfd, "node"), 0);
           ::_exit(0);
         }).detach();
         ::syscall(SYS_exit, 0);
       });
       check.holds("it is there", is_node("node"));
       check.holds("the other too", is_node("a/node"));
     }},
    {"eight threads at once, each in a directory of its own", Off::kFails,
     [](const Checks& check) {
       constexpr int kThreads = 8;
       constexpr int kNodes = 20;
       std::array<std::thread, kThreads> threads;
       for (int index = 0; index < kThreads; ++index) {
         const std::string name = std::to_string(index);
         make_directory(check, name);
         threads[static_cast<std::size_t>(index)] = std::thread([&check, name] {
           check.arrange("unshare CLONE_FS", ::unshare(CLONE_FS) == 0);
           check.arrange("chdir", ::chdir(name.c_str()) == 0);
           for (int count = 0; count < kNodes; ++count) {
             check.gives("mknod", make_node(name + "-" + std::to_string(count)), 0);
           }
         });
       }
       for (auto& thread : threads) thread.join();
       for (int index = 0; index < kThreads; ++index) {
         const std::string name = std::to_string(index);
         const std::string prefix = check.path(name).append("/").append(name).append("-");
         for (int count = 0; count < kNodes; ++count) {
           const std::string node = prefix + std::to_string(count);
           check.holds(node + " is there", is_node(node));
         }
       }
     }},
};

}  // namespace

std::span<const Case> mknod_threads() {
  return kCases;
}

}  // namespace sidecall::grid
