// Taking off what was mounted, by the same callers.
#include "grid/mount.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "grid/caller.h"

namespace sidecall::grid {
namespace {

void mount_place(const Checks& check) {
  check.gives("mount", mount_it({.target = "place"}), 0);
}

constexpr Case kCases[] = {
    {"by every form of the path", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_link(check, "place", "link");
       const int root = open_descriptor(check, ".", O_PATH);
       for (const std::string& path :
            {std::string("place"), std::string("./place/"), check.path("place"),
             std::string("link"), std::string("link/"), std::string("/proc/self/cwd/place"),
             "/proc/self/fd/" + std::to_string(root) + "/place"}) {
         mount_place(check);
         check.gives("umount of " + path, unmount(path), 0);
         check.holds("it has gone", !is_in("place", kTmpfs));
       }
     }},
    {"lazily, and by force", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_place(check);
       check.gives("lazily", unmount("place", MNT_DETACH), 0);
       check.holds("it has gone", !is_in("place", kTmpfs));
       mount_place(check);
       check.gives("not through links", unmount("place", UMOUNT_NOFOLLOW), 0);
       check.holds("it has gone", !is_in("place", kTmpfs));
     }},
    {"not through a link", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_link(check, "place/link", "link");
       mount_place(check);
       make_link(check, "..", "place/link");
       check.fails("umount of a link in it", unmount("place/link", UMOUNT_NOFOLLOW), EINVAL);
       check.holds("it is there", is_in("place", kTmpfs));
     }},
    {"stacked mounts, one at a time", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_place(check);
       make_file(check, "place/file");
       mount_place(check);
       check.gives("umount", unmount("place"), 0);
       check.holds("the lower one shows", exists("place/file"));
       check.gives("umount of that", unmount("place"), 0);
       check.holds("it has gone", !is_in("place", kTmpfs));
     }},
    {"what is no mount, in one", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_place(check);
       make_directory(check, "place/a");
       check.fails("umount", unmount("place/a"), EINVAL);
       make_file(check, "place/file");
       check.fails("umount of a file", unmount("place/file"), EINVAL);
       check.fails("umount below what is not there", unmount("place/b"), ENOENT);
     }},
    // Nothing but the emulator's own mounts is looked at: EPERM.
    {"what is no mount", Off::kLimit,
     [](const Checks& check) {
       prepare_place(check);
       check.fails("umount", unmount("place"), EINVAL);
     }},
    {"paths that lead nowhere", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       make_file(check, "file");
       make_link(check, "loop", "loop");
       check.fails("missing", unmount("nowhere"), ENOENT);
       check.fails("empty", unmount(""), ENOENT);
       check.fails("file as a directory", unmount("file/x"), ENOTDIR);
       check.fails("loop", unmount("loop"), ELOOP);
       check.fails("too long", unmount(std::string(4096, '/')), ENAMETOOLONG);
       check.fails("NULL", ::syscall(SYS_umount2, nullptr, 0), EFAULT);
       check.fails("at 1", ::syscall(SYS_umount2, 1, 0), EFAULT);
     }},
    {"flags that there are not", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       for (const int flags : {16, 0x100, 0x4000'0000, ~0}) {
         check.fails("flags " + std::to_string(flags), unmount("place", flags), EINVAL);
         check.fails("of NULL", ::syscall(SYS_umount2, nullptr, flags), EINVAL);
       }
     }},
    {"garbage above the flags", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_place(check);
       // No upper half where a long has 32 bits.
       const auto garbage = static_cast<unsigned long>(0xdeadbeefULL << 32U);
       check.gives("umount", ::syscall(SYS_umount2, "place", garbage), 0);
     }},
    {"by CAP_SYS_ADMIN", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       mount_place(check);
       check.fails("to expire, with force", unmount("place", MNT_EXPIRE | MNT_FORCE), EINVAL);
       check.fails("to expire", unmount("place", MNT_EXPIRE), EAGAIN);
       check.gives("once more", unmount("place", MNT_EXPIRE), 0);
       mount_place(check);
       const int file = open_descriptor(check, "place", O_RDONLY);
       check.fails("in use", unmount("place"), EBUSY);
       ::close(file);
       check.gives("not in use", unmount("place"), 0);
       check.fails("no mount", unmount("place"), EINVAL);
     }},
    // It goes lazily.
    {"in use", Off::kLimit,
     [](const Checks& check) {
       prepare_place(check);
       mount_place(check);
       const int file = open_descriptor(check, "place", O_RDONLY);
       check.fails("umount", unmount("place"), EBUSY);
       ::close(file);
     }},
    {"to expire", Off::kLimit,
     [](const Checks& check) {
       prepare_place(check);
       mount_place(check);
       check.fails("umount", unmount("place", MNT_EXPIRE), EAGAIN);
     }},
    {"to expire, with force", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_place(check);
       check.fails("with force", unmount("place", MNT_EXPIRE | MNT_FORCE), EINVAL);
       check.fails("lazily", unmount("place", MNT_EXPIRE | MNT_DETACH), EINVAL);
     }},
    {"what the sandbox was given", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       as_engines_leave_it(check);
       check.fails("/proc", unmount("/proc", MNT_DETACH), EPERM);
       check.fails("/", unmount("/", MNT_DETACH), EPERM);
     },
     Where::kContainerOnly},
    {"what another right has mounted", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       mount_place(check);
       as_engines_leave_it(check);
       check.fails("umount", unmount("place"), EPERM);
     },
     Where::kContainerOnly},
};

}  // namespace

std::span<const Case> umount_cases() {
  return kCases;
}

}  // namespace sidecall::grid
