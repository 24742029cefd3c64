// What is beside new mounts: binds, remounts, moves, propagation, and the newer calls.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "grid/caller.h"
#include "grid/mount.h"

namespace sidecall::grid {
namespace {

constexpr unsigned kCreate = 6;  // FSCONFIG_CMD_CREATE
constexpr unsigned kClone = 1;   // OPEN_TREE_CLONE

long change(const std::string& target, std::uint64_t flags) {
  return mount_it({.target = target, .type = nullptr, .flags = flags, .source = nullptr});
}

constexpr Case kCases[] = {
    {"bind, remount, move and propagation", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "a");
       make_directory(check, "place");
       make_file(check, "a/file");
       check.gives("bind", mount_it({.target = "place", .flags = MS_BIND, .source = "a"}), 0);
       check.holds("it is there", exists("place/file"));
       for (const std::uint64_t flags : {MS_PRIVATE, MS_SHARED, MS_SLAVE, MS_UNBINDABLE}) {
         check.gives("propagation", change("place", flags), 0);
         check.gives("of all below", change("place", flags | MS_REC), 0);
       }
       check.gives("private", change("place", MS_PRIVATE), 0);
       check.fails("move on itself",
                   mount_it({.target = "place", .flags = MS_MOVE, .source = "place"}), ELOOP);
       make_directory(check, "other");
       check.gives("move", mount_it({.target = "other", .flags = MS_MOVE, .source = "place"}), 0);
       check.holds("it has moved", exists("other/file") && !exists("place/file"));
       check.fails("two at once", change("other", MS_PRIVATE | MS_SHARED), EINVAL);
       check.fails("remount of no mount", change("a", MS_REMOUNT), EINVAL);
       check.gives("umount", unmount("other"), 0);
     }},
    {"remount of one's own", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       check.gives("mount", mount_it({.target = "place"}), 0);
       check.gives("remount", change("place", MS_REMOUNT | MS_RDONLY), 0);
       check.fails("making a file", ::open("place/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600),
                   EROFS);
       check.gives("remount of the mount alone", change("place", MS_REMOUNT | MS_BIND), 0);
     }},
    {"the same without CAP_SYS_ADMIN", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       check.fails("bind", mount_it({.target = "place", .flags = MS_BIND, .source = "."}), EPERM);
       check.fails("private", change("place", MS_PRIVATE), EPERM);
       check.fails("remount", change("place", MS_REMOUNT), EPERM);
       check.fails("move", mount_it({.target = "place", .flags = MS_MOVE, .source = "."}), EPERM);
       check.fails("below what is not there", change("x", MS_BIND), ENOENT);
     },
     Where::kContainerOnly},
    {"fsopen and fsconfig", Off::kFails,
     [](const Checks& check) {
       check.fails("fsopen", ::syscall(SYS_fsopen, "tmpfs", 0), ENOSYS);
       check.fails("fsopen of NULL", ::syscall(SYS_fsopen, nullptr, ~0U), ENOSYS);
       check.fails("fsconfig", ::syscall(SYS_fsconfig, -1, kCreate, nullptr, nullptr, 0), ENOSYS);
     },
     Where::kContainerOnly},
    {"the rest of the newer calls", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "a");
       make_directory(check, "place");
       make_file(check, "a/file");
       const long tree = ::syscall(SYS_open_tree, AT_FDCWD, "a", kClone | O_CLOEXEC);
       check.succeeds("open_tree", tree);
       check.gives("move_mount", ::syscall(SYS_move_mount, tree, "", AT_FDCWD, "place", 4), 0);
       check.holds("it is there", exists("place/file"));
       check.fails("fsmount", ::syscall(SYS_fsmount, -1, 0, 0), EBADF);
       check.fails("fspick", ::syscall(SYS_fspick, AT_FDCWD, "nowhere", 0), ENOENT);
     }},
};

}  // namespace

std::span<const Case> mount_neighbours() {
  return kCases;
}

}  // namespace sidecall::grid
