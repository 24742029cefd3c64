// Paths through proc(5), whose links mean another file to each process that follows them.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "grid/caller.h"
#include "grid/mknod.h"

namespace sidecall::grid {
namespace {

// "/proc/self/fd/N/node"
std::string below_descriptor(int fd) {
  return "/proc/self/fd/" + std::to_string(fd) + "/node";
}

// "link/link/…"
std::string links(int count) {
  std::string path;
  while (count-- > 0) path += "link/";
  return path;
}

// A child that stays in the directory `path` until it is killed.
pid_t start_child_in(const Checks& check, const std::string& path) {
  std::array<int, 2> ready{};
  check.arrange("pipe", ::pipe(ready.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    check.arrange("chdir", ::chdir(path.c_str()) == 0);
    check.arrange("saying so", ::write(ready[1], "", 1) == 1);
    for (;;) ::pause();
  }
  char byte = 0;
  check.arrange("hearing so", child > 0 && ::read(ready[0], &byte, 1) == 1);
  return child;
}

constexpr Case kCases[] = {
    {"self/cwd", Off::kFails,
     [](const Checks& check) {
       check.gives("mknod", make_node("/proc/self/cwd/node"), 0);
       check.holds("it is in the caller's directory", is_node(check.path("node")));
     }},
    {"self/root", Off::kFails,
     [](const Checks& check) {
       check.gives("mknod", make_node("/proc/self/root" + check.path("node")), 0);
       check.holds("it is below the caller's root", is_node(check.path("node")));
     }},
    {"self/fd", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       check.gives("mknod", make_node(below_descriptor(open_descriptor(check, "a", O_PATH))), 0);
       check.holds("it is in the descriptor's directory", is_node(check.path("a/node")));
     }},
    {"self/task/TID/cwd", Off::kFails,
     [](const Checks& check) {
       const std::string tid = std::to_string(::gettid());
       check.gives("mknod", make_node("/proc/self/task/" + tid + "/cwd/node"), 0);
       check.holds("it is in the caller's directory", is_node(check.path("node")));
     }},
    {"thread-self/cwd of a thread with a directory of its own", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       in_thread_with_own_directory(check, [&] {
         check.arrange("chdir", ::chdir("a") == 0);
         check.gives("mknod", make_node("/proc/thread-self/cwd/node"), 0);
         check.gives("mknod through self", make_node("/proc/self/cwd/other"), 0);
       });
       check.holds("it is in the thread's", is_node(check.path("a/node")));
       check.holds("the other is in the process's", is_node(check.path("other")));
     }},
    {"thread-self/fd of a thread", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       in_thread([&] {
         const int fd = open_descriptor(check, "a", O_PATH);
         const std::string name = "/fd/" + std::to_string(fd);
         check.gives("mknod", make_node("/proc/thread-self" + name + "/node"), 0);
         check.gives("mknod through self", make_node("/proc/self" + name + "/other"), 0);
         check.gives("mknod through its number",
                     make_node("/proc/self/task/" + std::to_string(::gettid()) + name + "/third"),
                     0);
       });
       check.holds("they are in the descriptor's directory",
                   is_node("a/node") && is_node("a/other") && is_node("a/third"));
     }},
    {"thread-self/fd of a thread with descriptors of its own", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_directory(check, "b");
       const int fd = open_descriptor(check, "a", O_PATH);
       in_thread([&] {
         check.arrange("unshare CLONE_FILES", ::unshare(CLONE_FILES) == 0);
         const int own = open_descriptor(check, "b", O_PATH);
         check.arrange("another directory under the same number", ::dup2(own, fd) == fd);
         const std::string name = "/fd/" + std::to_string(fd);
         check.gives("mknod", make_node("/proc/thread-self" + name + "/node"), 0);
         check.gives("mknod through self", make_node("/proc/self" + name + "/other"), 0);
       });
       check.holds("it is in the thread's", is_node("b/node"));
       check.holds("the other is in the process's", is_node("a/other"));
     }},
    {"link to self/cwd", Off::kLimit,
     [](const Checks& check) {
       make_link(check, "/proc/self/cwd", "link");
       make_link(check, "/proc/self", "self");
       check.gives("mknod", make_node("link/node"), 0);
       check.gives("mknod through a link to self", make_node("self/cwd/other"), 0);
       check.holds("they are there", is_node("node") && is_node("other"));
     }},
    {"self/cwd after dot-dot", Off::kLimit,
     [](const Checks& check) {
       check.gives("mknod",
                   make_node("/proc/self/../self/./cwd/../" +
                             check.scratch().substr(check.scratch().rfind('/')) + "/node"),
                   0);
       check.holds("it is there", is_node("node"));
     }},
    {"directory descriptor on self", Off::kFails,
     [](const Checks& check) {
       const int self = open_descriptor(check, "/proc/self", O_PATH);
       check.gives("mknodat", make_node_at(self, "cwd/node"), 0);
       check.holds("it is there", is_node("node"));
     }},
    {"directory descriptor on proc", Off::kLimit,
     [](const Checks& check) {
       const int proc = open_descriptor(check, "/proc", O_RDONLY | O_DIRECTORY);
       check.gives("mknodat", make_node_at(proc, "self/cwd/node"), 0);
       check.holds("it is there", is_node("node"));
     }},
    {"working directory in proc", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       const int dirfd = open_descriptor(check, "a", O_PATH);
       check.arrange("chdir", ::chdir("/proc/self/fd") == 0);
       check.gives("mknod", make_node(std::to_string(dirfd) + "/node"), 0);
       check.holds("it is there", is_node(check.path("a/node")));
     }},
    {"proc mounted elsewhere", Off::kLimit,
     [](const Checks& check) {
       make_directory(check, "elsewhere");
       own_mounts(check);
       check.arrange("a bind mount",
                     ::mount("/proc", "elsewhere", nullptr, MS_BIND | MS_REC, nullptr) == 0);
       check.gives("mknod", make_node("elsewhere/self/cwd/node"), 0);
       check.holds("it is there", is_node("node"));
     }},
    {"self/cwd in a pid namespace of the caller's own", Off::kFails,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWPID", ::unshare(CLONE_NEWPID) == 0);
       in_child(check, [&] {
         check.arrange("process 1", ::getpid() == 1);
         check.gives("mknod", make_node("/proc/self/cwd/node"), 0);
       });
       check.holds("it is there", is_node("node"));
     }},
    {"names that only look like proc", Off::kFails,
     [](const Checks& check) {
       for (const char* path : {"jail", "jail/proc", "jail/proc/self", "jail/proc/self/cwd"}) {
         make_directory(check, path);
       }
       in_child(check, [&] {
         check.arrange("chroot", ::chroot("jail") == 0);
         check.gives("mknod", make_node("/proc/self/cwd/node"), 0);
       });
       check.holds("it is where the names lead", is_node("jail/proc/self/cwd/node"));
     }},
    {"directory of another process", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       const pid_t child = start_child_in(check, "a");
       check.gives("mknod", make_node("/proc/" + std::to_string(child) + "/cwd/node"), 0);
       check.holds("it is there", is_node("a/node"));
     }},
    {"directory of a process that the caller may not look into", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a", 0777);
       const pid_t child = start_child_in(check, "a");
       act_as(check, {.uid = 1234, .gid = 2345}, {CAP_MKNOD});
       check.fails("mknod", make_node("/proc/" + std::to_string(child) + "/cwd/node"), EACCES);
       check.fails("mknod through 1", make_node("/proc/1/cwd/node"), EACCES);
     }},
    {"user's own", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a", 0777);
       const int dirfd = open_descriptor(check, "a", O_PATH);
       check.arrange("chdir", ::chdir("a") == 0);
       act_as(check, {.uid = 1234, .gid = 2345}, {CAP_MKNOD});
       check.gives("mknod through fd", make_node(below_descriptor(dirfd)), 0);
       check.gives("mknod through cwd", make_node("/proc/self/cwd/other"), 0);
       check.holds("they are there", is_node("node") && is_node("other"));
     }},
    {"own of a caller that is not dumpable", Off::kFails,
     [](const Checks& check) {
       check.arrange("PR_SET_DUMPABLE", ::prctl(PR_SET_DUMPABLE, 0) == 0);
       check.gives("mknod", make_node("/proc/self/cwd/node"), 0);
       check.holds("it is there", is_node("node"));
     }},
    {"as many links as the kernel follows", Off::kFails,
     [](const Checks& check) {
       make_link(check, ".", "link");
       // self and cwd are two of the forty.
       check.gives("mknod", make_node("/proc/self/cwd/" + links(38) + "node"), 0);
     }},
    {"more links than the kernel follows", Off::kLimit,
     [](const Checks& check) {
       make_link(check, ".", "link");
       check.fails("mknod", make_node("/proc/self/cwd/" + links(39) + "node"), ELOOP);
     }},
    {"what is no directory", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       std::array<int, 2> ends{};
       check.arrange("pipe", ::pipe(ends.data()) == 0);
       const int file = open_descriptor(check, "file", O_RDONLY);
       check.fails("mknod below a file", make_node(below_descriptor(file)), ENOTDIR);
       check.fails("mknod below a pipe", make_node(below_descriptor(ends[0])), ENOTDIR);
       check.fails("mknod below the program", make_node("/proc/self/exe/node"), ENOTDIR);
       check.fails("mknod below a namespace", make_node("/proc/self/ns/mnt/node"), ENOTDIR);
       check.fails("mknod below status", make_node("/proc/self/status/node"), ENOTDIR);
     }},
    {"what is not there", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod below no descriptor", make_node(below_descriptor(4242)), ENOENT);
       check.fails("mknod in self", make_node("/proc/self/node"), ENOENT);
       check.fails("mknod in fd", make_node("/proc/self/fd/node"), ENOENT);
       check.fails("mknod in proc", make_node("/proc/node"), ENOENT);
     }},
    {"what is there", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod self", make_node("/proc/self"), EEXIST);
       check.fails("mknod cwd", make_node("/proc/self/cwd"), EEXIST);
       check.fails("mknod exe", make_node("/proc/self/exe"), EEXIST);
     }},
};

}  // namespace

std::span<const Case> mknod_proc() {
  return kCases;
}

}  // namespace sidecall::grid
