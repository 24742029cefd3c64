// Who mounts: threads, roots, namespaces, ids and capabilities of the caller.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <thread>

#include "grid/caller.h"
#include "grid/mount.h"

namespace sidecall::grid {
namespace {

// Of each kind of right: the filesystems that root of a container gets lent.
void is_refused(const Checks& check) {
  check.fails("tmpfs", mount_it({.target = "place"}), EPERM);
  check.fails("overlay", mount_it({.target = "place", .type = "overlay"}), EPERM);
  check.fails("proc", mount_it({.target = "place", .type = "proc"}), EPERM);
  check.fails("ext4", mount_it({.target = "place", .type = "ext4"}), EPERM);
  check.fails("below what is not there", mount_it({.target = "x/place"}), ENOENT);
  check.fails("NULL", mount_raw(nullptr, nullptr, "tmpfs", 0, nullptr), EFAULT);
  check.fails("umount", unmount("place"), EPERM);
}

constexpr Case kCases[] = {
    {"thread", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       in_thread([&] { check.gives("mount", mount_it({.target = "place"}), 0); });
       check.holds("it is there", is_in(check.path("place"), kTmpfs));
     }},
    {"thread with a working directory of its own", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_directory(check, "a");
       make_directory(check, "a/place");
       in_thread_with_own_directory(check, [&] {
         check.arrange("chdir", ::chdir("a") == 0);
         check.gives("mount", mount_it({.target = "place"}), 0);
         check.gives("umount", unmount("place"), 0);
         check.gives("mount again", mount_it({.target = "place"}), 0);
       });
       check.holds("it is in the thread's directory", is_in(check.path("a/place"), kTmpfs));
       check.holds("and not in the process's", !is_in(check.path("place"), kTmpfs));
     }},
    {"thread with a root of its own", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_directory(check, "place/a");
       in_thread_with_own_directory(check, [&] {
         check.arrange("chroot", ::chroot("place") == 0);
         check.gives("mount", mount_it({.target = "/a"}), 0);
       });
       check.holds("it is below the thread's root", is_in(check.path("place/a"), kTmpfs));
     }},
    {"thread with a mount namespace of its own", Off::kFails,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       in_thread_with_own_directory(check, [&] {
         own_mounts(check);
         as_engines_leave_it(check);
         check.gives("mount", mount_it({.target = "place"}), 0);
         check.holds("the thread sees it", is_in("place", kTmpfs));
       });
       check.holds("the process does not", !is_in(check.path("place"), kTmpfs));
     }},
    {"child with a mount namespace of its own", Off::kFails,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       in_child(check, [&] {
         own_mounts(check);
         as_engines_leave_it(check);
         check.gives("mount", mount_it({.target = "place"}), 0);
         check.holds("the child sees it", is_in("place", kTmpfs));
         check.gives("umount", unmount("place"), 0);
       });
       check.holds("the parent does not", !is_in("place", kTmpfs));
     }},
    {"mount namespace of the sandbox's first process", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "place");
       as_engines_leave_it(check);
       check.gives("mount", mount_it({.target = "place"}), 0);
       in_child(check, [&] { check.holds("all see it", is_in("place", kTmpfs)); });
       check.gives("umount", unmount("place"), 0);
       check.holds("it has gone", !is_in("place", kTmpfs));
     }},
    {"chroot'ed caller", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_directory(check, "place/a");
       check.arrange("chroot", ::chroot("place") == 0 && ::chdir("/") == 0);
       check.gives("mount", mount_it({.target = "/../a"}), 0);
       check.holds("it is there", is_in("/a", kTmpfs));
       check.gives("umount", unmount("a"), 0);
     }},
    {"chroot'ed caller whose working directory is outside", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       make_directory(check, "a");
       check.arrange("chroot", ::chroot("place") == 0);
       check.gives("mount", mount_it({.target = "a"}), 0);
       check.holds("it is there", is_in("a", kTmpfs));
     }},
    {"caller that is not dumpable", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.arrange("PR_SET_DUMPABLE", ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
       check.gives("mount", mount_it({.target = "place"}), 0);
       check.gives("umount", unmount("place"), 0);
     }},
    {"caller without new privileges", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       check.arrange("PR_SET_NO_NEW_PRIVS", ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
       check.gives("mount", mount_it({.target = "place"}), 0);
     }},
    {"pid namespace of the caller's own", Off::kFails,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       check.arrange("unshare CLONE_NEWPID", ::unshare(CLONE_NEWPID) == 0);
       as_engines_leave_it(check);
       in_child(check, [&] { check.gives("mount", mount_it({.target = "place"}), 0); });
       check.holds("it is there", is_in("place", kTmpfs));
     }},
    {"another user", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       act_as(check, {.uid = 1234, .gid = 1234}, {});
       is_refused(check);
     }},
    {"another user who holds every capability but CAP_SYS_ADMIN", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       act_as(check, {.uid = 1234, .gid = 1234},
              {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_MKNOD, CAP_SYS_CHROOT, CAP_SETUID});
       is_refused(check);
     }},
    {"root without any capability", Off::kFails,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       keep_capabilities(check, {});
       check.gives("mount", mount_it({.target = "place"}), 0);
     },
     Where::kContainerOnly},
    {"root without CAP_SYS_ADMIN on the host", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       drop_capability(check, CAP_SYS_ADMIN);
       is_refused(check);
     },
     Where::kNativeOnly},
    {"user namespace of the caller's own", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       check.arrange("unshare CLONE_NEWUSER", ::unshare(CLONE_NEWUSER) == 0);
       // It has every capability there, and none over the mounts, which are its parent's.
       is_refused(check);
     }},
    {"user namespace and mounts of the caller's own", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "place");
       check.arrange("unshare", ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
       check.gives("tmpfs", mount_it({.target = "place"}), 0);
       check.fails("ext4", mount_it({.target = "place", .type = "ext4"}), EPERM);
       check.gives("umount", unmount("place"), 0);
     }},
    {"threads that mount at once", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       std::thread threads[4];
       int index = 0;
       for (std::thread& thread : threads) {
         const std::string name = check.path("place/" + std::to_string(index++));
         make_directory(check, name);
         thread = std::thread([&check, name] {
           for (int count = 0; count < 5; ++count) {
             check.gives("mount", mount_it({.target = name}), 0);
             check.holds("it is there", is_in(name, kTmpfs));
             check.gives("umount", unmount(name), 0);
           }
         });
       }
       for (std::thread& thread : threads) thread.join();
     }},
};

}  // namespace

std::span<const Case> mount_callers() {
  return kCases;
}

}  // namespace sidecall::grid
