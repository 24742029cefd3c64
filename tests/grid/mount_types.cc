// What is mounted: types and options on and off the policy's list.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "grid/caller.h"
#include "grid/mount.h"

namespace sidecall::grid {
namespace {

constexpr const char* kLayers = "lowerdir=lower,upperdir=upper,workdir=work,userxattr";

void make_layers(const Checks& check) {
  for (const char* name : {"lower", "upper", "work", "merged"}) make_directory(check, name);
  make_file(check, "lower/file");
}

void fail_options(const Checks& check, const char* type, int error) {
  for (const char* data : {"huge=always", "size=1m,huge=always", "nonsense", "huge", "=,x"}) {
    check.fails(std::string(type) + " with " + data,
                mount_it({.target = "place", .type = type, .data = data}), error);
  }
}

constexpr Case kCases[] = {
    {"tmpfs", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.gives("mount", mount_it({.target = "place"}), 0);
       check.holds("it is there", is_in("place", kTmpfs));
       make_file(check, "place/file");
       struct stat status {};
       check.holds("it is root's, and anybody may write",
                   ::stat("place", &status) == 0 && status.st_uid == 0 && status.st_gid == 0 &&
                       (status.st_mode & 07777) == 01777);
     }},
    {"tmpfs with listed options", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       const char* const data = "size=64k,mode=0750,uid=12,gid=34";
       check.gives("mount", mount_it({.target = "place", .data = data}), 0);
       struct stat status {};
       check.holds("it has them", ::stat("place", &status) == 0 && status.st_uid == 12 &&
                                      status.st_gid == 34 && (status.st_mode & 07777) == 0750);
     }},
    {"options with nothing in them", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       for (const char* data : {"", ",", ",,mode=700,,", "size=1m,", "=", "=1m"}) {
         check.gives(std::string("mount with \"") + data + "\"",
                     mount_it({.target = "place", .data = data}), 0);
       }
     }},
    {"values that an option does not take", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       for (const char* data : {"mode=9", "mode=x", "size=x", "uid=-5", "mode", "uid="}) {
         check.fails(std::string("mount with ") + data, mount_it({.target = "place", .data = data}),
                     EINVAL);
       }
     }},
    {"id that the sandbox does not have", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.fails("mount", mount_it({.target = "place", .data = "uid=4000000000"}), EINVAL);
     },
     Where::kContainerOnly},
    {"overlay", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_layers(check);
       const Mount wanted{.target = "merged", .type = "overlay", .data = kLayers};
       check.gives("mount", mount_it(wanted), 0);
       check.holds("it is there", is_in("merged", kOverlay) && exists("merged/file"));
       make_file(check, "merged/other");
       check.gives("removing", ::unlink("merged/file"), 0);
       struct stat status {};
       check.holds("the upper layer has both", exists("upper/other") &&
                                                   ::lstat("upper/file", &status) == 0 &&
                                                   S_ISCHR(status.st_mode));
     }},
    // The emulator's working directory is the caller's only where the target is relative.
    {"overlay of relative layers on an absolute path", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_layers(check);
       const Mount wanted{.target = check.path("merged"), .type = "overlay", .data = kLayers};
       check.gives("mount", mount_it(wanted), 0);
     }},
    // Only of the target is /proc/self made the caller's.
    {"overlay of layers in /proc", Off::kLimit,
     [](const Checks& check) {
       prepare_place(check);
       make_layers(check);
       const int lower = open_descriptor(check, "lower", O_PATH);
       const std::string data =
           "upperdir=upper,workdir=work,userxattr,lowerdir=/proc/self/fd/" + std::to_string(lower);
       const Mount wanted{.target = "merged", .type = "overlay", .data = data.c_str()};
       check.gives("mount", mount_it(wanted), 0);
       check.holds("it is there", exists("merged/file"));
     }},
    {"overlay of layers that are not there", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.fails("mount", mount_it({.target = "place", .type = "overlay", .data = kLayers}),
                   ENOENT);
       check.fails("without any", mount_it({.target = "place", .type = "overlay"}), EINVAL);
       check.fails("with an option that it has not",
                   mount_it({.target = "place", .type = "overlay", .data = "nonsense"}), EINVAL);
     }},
    {"proc", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.gives("mount", mount_it({.target = "place", .type = "proc", .source = "proc"}), 0);
       check.holds("it is there", is_in("place", kProc));
       const std::string own = "place/" + std::to_string(::getpid());
       check.holds("it shows the caller", exists(own));
     }},
    {"proc in a chroot", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_directory(check, "place/proc");
       check.arrange("chroot", ::chroot("place") == 0 && ::chdir("/") == 0);
       check.gives("mount", mount_it({.target = "/proc", .type = "proc", .source = "proc"}), 0);
       check.holds("it is there", is_in("/proc", kProc));
     }},
    {"proc in a chroot without that directory", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_directory(check, "place/other");
       check.arrange("chroot", ::chroot("place") == 0 && ::chdir("/") == 0);
       check.gives("mount", mount_it({.target = "/other", .type = "proc", .source = "proc"}), 0);
       check.holds("it is there", is_in("/other", kProc));
     }},
    {"proc of a pid namespace of the caller's own", Off::kFails,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       check.arrange("unshare CLONE_NEWPID", ::unshare(CLONE_NEWPID) == 0);
       in_child(check, [&] {
         as_engines_leave_it(check);
         check.gives("mount", mount_it({.target = "place", .type = "proc", .source = "proc"}), 0);
         check.holds("it is there", is_in("place", kProc));
         check.holds("it shows the first process alone", exists("place/1") && !exists("place/2"));
       });
     }},
    {"devpts", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.gives("mount", mount_it({.target = "place", .type = "devpts", .data = "mode=620"}), 0);
       check.holds("it is there", is_in("place", kDevpts) && exists("place/ptmx"));
     }},
    {"what the kernel lets CAP_SYS_ADMIN mount", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_layers(check);
       make_directory(check, "place");
       check.gives("tmpfs", mount_it({.target = "place", .data = "size=64k,nr_inodes=10"}), 0);
       check.gives("overlay", mount_it({.target = "merged", .type = "overlay", .data = kLayers}),
                   0);
       check.gives("ramfs, which is not listed", mount_it({.target = "place", .type = "ramfs"}), 0);
     }},
    {"types that are not there", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       for (const char* type :
            {"nosuchfs", "", " ", "tmpfs ", "TMPFS", "tmpfs.x", "ext4.x", "tmp"}) {
         check.fails(std::string("type \"") + type + "\"",
                     mount_it({.target = "place", .type = type}), ENODEV);
       }
       check.fails("no type", mount_raw("none", "place", nullptr, 0, nullptr), EINVAL);
       check.fails("no type, with a magic number",
                   mount_raw("none", "place", nullptr, MS_MGC_VAL, nullptr), EINVAL);
     }},
    {"unlisted type", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       for (const char* type : {"ramfs", "sysfs", "mqueue", "cgroup2", "ext2", "nosuchfs"}) {
         check.fails(std::string("type ") + type, mount_it({.target = "place", .type = type}),
                     EPERM);
       }
       check.fails("no type", mount_raw("none", "place", nullptr, 0, nullptr), EPERM);
     },
     Where::kContainerOnly},
    {"unlisted option", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       fail_options(check, "tmpfs", EPERM);
       fail_options(check, "proc", EPERM);
       fail_options(check, "ext4", EPERM);
     },
     Where::kContainerOnly},
    {"mount on a mount", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.gives("mount", mount_it({.target = "place"}), 0);
       make_file(check, "place/file");
       check.gives("mount of another", mount_it({.target = "place"}), 0);
       check.holds("the other is there", is_in("place", kTmpfs) && !exists("place/file"));
       check.gives(
           "mount below it",
           ::mkdir("place/a", 0755) == 0 ? mount_it({.target = "place/a", .source = "third"}) : -1,
           0);
     }},
    {"source of each kind", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       for (const char* source : {"none", "", "/dev/null", "a b\tc", "tmpfs"}) {
         check.gives(std::string("mount of \"") + source + "\"",
                     mount_it({.target = "place", .source = source}), 0);
       }
       check.gives("mount of NULL", mount_it({.target = "place", .source = nullptr}), 0);
     }},
    {"name of the source, as mountinfo shows it", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.gives("mount", mount_it({.target = "place", .source = "some-name"}), 0);
       std::ifstream file("/proc/self/mountinfo");
       const std::string text{std::istreambuf_iterator<char>(file), {}};
       check.holds("it is there", text.find(" - tmpfs some-name ") != std::string::npos);
     }},
};

}  // namespace

std::span<const Case> mount_types() {
  return kCases;
}

}  // namespace sidecall::grid
