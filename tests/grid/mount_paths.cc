// Where it is mounted: forms of the path, and paths that lead nowhere.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grid/caller.h"
#include "grid/mount.h"

namespace sidecall::grid {
namespace {

void mount_at(const Checks& check, const std::string& path, const std::string& seen) {
  check.gives("mount at " + path, mount_it({.target = path}), 0);
  check.holds(path + " is mounted on", is_in(seen, kTmpfs));
}

// By a caller whose right the emulator lends, and of what the device emulation resolves itself.
void fail_at(const Checks& check, const std::string& path, int error) {
  check.fails("tmpfs at " + path, mount_it({.target = path}), error);
  check.fails("proc at " + path, mount_it({.target = path, .type = "proc"}), error);
  check.fails("ext4 at " + path, mount_it({.target = path, .type = "ext4"}), error);
}

constexpr Case kCases[] = {
    {"relative path", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_at(check, "place", check.path("place"));
     }},
    {"absolute path", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_at(check, check.path("place"), "place");
     }},
    {"path after chdir", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_directory(check, "a");
       make_directory(check, "a/place");
       check.arrange("chdir", ::chdir("a") == 0);
       mount_at(check, "place", check.path("a/place"));
       mount_at(check, "../place", check.path("place"));
     }},
    {"trailing slash, dots and slashes", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_directory(check, "a");
       mount_at(check, "place/", check.path("place"));
       mount_at(check, ".//./a/../a/.", check.path("a"));
     }},
    {"link at the end", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_link(check, "place", "link");
       mount_at(check, "link", "place");
     }},
    {"links on the way", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_directory(check, "a");
       make_link(check, check.path("a/.."), "link");
       mount_at(check, "link/place", "place");
     }},
    {"working directory", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.arrange("chdir", ::chdir("place") == 0);
       mount_at(check, ".", check.path("place"));
       // The caller is still in what is covered now.
       check.holds("the caller is below it", !is_in(".", kTmpfs) || ::chdir(".") == 0);
     }},
    {"file", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_file(check, "file");
       check.fails("tmpfs", mount_it({.target = "file"}), ENOTDIR);
       check.fails("tmpfs with a slash", mount_it({.target = "file/"}), ENOTDIR);
     }},
    // It is moved there, for which the kernel has another errno: EINVAL.
    {"file, proc", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_file(check, "file");
       check.fails("proc", mount_it({.target = "file", .type = "proc"}), ENOTDIR);
     }},
    {"descriptor in /proc", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       const int fd = open_descriptor(check, "place", O_PATH);
       mount_at(check, "/proc/self/fd/" + std::to_string(fd), "place");
       make_directory(check, "a");
       const int other = open_descriptor(check, "a", O_RDONLY);
       mount_at(check, "/proc/thread-self/fd/" + std::to_string(other), "a");
     }},
    {"working directory in /proc", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_at(check, "/proc/self/cwd/place", "place");
       make_directory(check, "a");
       mount_at(check, "/proc/self/root" + check.path("a"), "a");
     }},
    // /proc/self is made the caller's by the number that it has in its own pid namespace.
    {"working directory in the /proc of another pid namespace", Off::kFails,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       check.arrange("unshare CLONE_NEWPID", ::unshare(CLONE_NEWPID) == 0);
       as_engines_leave_it(check);
       in_child(check, [&] { mount_at(check, "/proc/self/cwd/place", "place"); });
     }},
    {"longest path", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       std::string path(4095 - 5, '/');
       path.replace(0, 1, ".");
       mount_at(check, path + "place", "place");
     }},
    {"in a mount", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_at(check, "place", "place");
       make_directory(check, "place/a");
       mount_at(check, "place/a", "place/a");
     }},
    {"missing path", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       fail_at(check, "nowhere", ENOENT);
       fail_at(check, "nowhere/else", ENOENT);
       fail_at(check, check.path("nowhere"), ENOENT);
       fail_at(check, "", ENOENT);
     }},
    {"dangling link", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       make_link(check, "nowhere", "link");
       fail_at(check, "link", ENOENT);
     }},
    {"loop of links", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       make_link(check, "loop", "loop");
       fail_at(check, "loop", ELOOP);
       fail_at(check, "loop/place", ELOOP);
     }},
    {"file as a directory", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       make_file(check, "file");
       fail_at(check, "file/place", ENOTDIR);
       fail_at(check, "file/", ENOTDIR);
       fail_at(check, "file/../place", ENOTDIR);
     }},
    {"names and paths that are too long", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       fail_at(check, std::string(256, 'a'), ENAMETOOLONG);
       fail_at(check, std::string(4096, '/'), ENAMETOOLONG);
       fail_at(check, std::string(9000, '/'), ENAMETOOLONG);
     }},
    {"working directory that has gone", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       check.arrange("chdir", ::chdir("place") == 0 && ::rmdir("../place") == 0);
       fail_at(check, "place", ENOENT);
       fail_at(check, "..//place/", ENOENT);
     }},
    {"the working directory itself that has gone", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.arrange("chdir", ::chdir("place") == 0 && ::rmdir("../place") == 0);
       check.fails("tmpfs", mount_it({.target = "."}), ENOENT);
     }},
    {"bad descriptor in /proc", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       fail_at(check, "/proc/self/fd/4242", ENOENT);
     }},
    {"behind a directory that the caller may not search", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       make_directory(check, "closed", 0700);
       make_directory(check, "closed/place", 0777);
       change_owner(check, "closed", 1234, 1234);
       drop_capability(check, CAP_DAC_OVERRIDE);
       drop_capability(check, CAP_DAC_READ_SEARCH);
       fail_at(check, "closed/place", EACCES);
       fail_at(check, "closed/nowhere", EACCES);
     }},
    {"directory of another, whose mode forbids everything", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       change_owner(check, "place", 1234, 1234);
       check.arrange("chmod", ::chmod("place", 0) == 0);
       // No permission is needed on what is mounted on.
       drop_capability(check, CAP_DAC_OVERRIDE);
       drop_capability(check, CAP_DAC_READ_SEARCH);
       mount_at(check, "place", "place");
     }},
};

}  // namespace

std::span<const Case> mount_paths() {
  return kCases;
}

}  // namespace sidecall::grid
