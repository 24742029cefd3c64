// Filesystems of block devices: which source, which options, and what is to be had afterwards.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grid/caller.h"
#include "grid/mount.h"

namespace sidecall::grid {
namespace {

// Who holds CAP_SYS_ADMIN, on the host or in the sandbox.
void prepare_capable(const Checks& check) {
  own_mounts(check);
  make_directory(check, "place");
}

// `device` must outlive what is made of it.
Mount ext4(std::string_view device) {
  return {.target = "place", .type = "ext4", .source = device.data()};
}

bool is_mounted() {
  return is_in("place", kExt4) && exists("place/lost+found");
}

void fail_sources(const Checks& check, int missing) {
  make_file(check, "file");
  for (const auto& [source, error] : {std::pair{"nowhere", missing},
                                      {"file/x", ENOTDIR},
                                      {"file", ENOTBLK},
                                      {".", ENOTBLK},
                                      {"/dev/null", ENOTBLK}}) {
    check.fails(source, mount_it(ext4(source)), error);
  }
}

constexpr Case kCases[] = {
    {"by CAP_SYS_ADMIN", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_capable(check);
       check.gives("mount", mount_it(ext4(device)), 0);
       check.holds("it is there", is_mounted());
     }},
    {"by root without it", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       check.gives("mount", mount_it(ext4(device)), 0);
       check.holds("it is there", is_mounted());
       check.gives("umount", unmount("place"), 0);
       check.holds("it has gone", !is_mounted());
     }},
    {"by a user with CAP_SYS_ADMIN", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_capable(check);
       act_as(check, {.uid = 1234, .gid = 1234}, {CAP_SYS_ADMIN});
       check.gives("mount", mount_it(ext4(device)), 0);
     }},
    {"its files", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       check.gives("mount", mount_it(ext4(device)), 0);
       struct stat status {};
       check.holds("root's are root's", ::stat("place/lost+found", &status) == 0 &&
                                            status.st_uid == 0 && status.st_gid == 0);
       ::unlink("place/file");
       const int file = ::open("place/file", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
       check.succeeds("making a file", file);
       check.gives("giving it away", ::fchown(file, 12, 34), 0);
       check.holds("it is given", ::stat("place/file", &status) == 0 && status.st_uid == 12 &&
                                      status.st_gid == 34);
       check.gives("removing it", ::unlink("place/file"), 0);
     }},
    {"nodes in it", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_capable(check);
       check.gives("mount", mount_it(ext4(device)), 0);
       check.fails("opening one", ::open("place/zero", O_RDONLY | O_CLOEXEC), EACCES);
       check.fails("remounting without nodev",
                   mount_raw(nullptr, "place", nullptr, MS_REMOUNT | MS_BIND, nullptr), EPERM);
     },
     Where::kContainerOnly},
    {"listed options", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       Mount wanted = ext4(device);
       wanted.data = "errors=continue,,";
       check.gives("mount", mount_it(wanted), 0);
       wanted.data = "errors=nonsense";
       check.fails("with a value that it has not", mount_it(wanted), EINVAL);
     }},
    {"twice", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       make_directory(check, "other");
       check.gives("mount", mount_it(ext4(device)), 0);
       Mount wanted = ext4(device);
       wanted.target = "other";
       check.gives("at another", mount_it(wanted), 0);
       wanted.flags = MS_RDONLY;
       check.fails("read-only", mount_it(wanted), EBUSY);
     }},
    // It is made elsewhere and moved there, for which the kernel does not look at that.
    {"twice at the same place", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       check.gives("mount", mount_it(ext4(device)), 0);
       check.fails("mount again", mount_it(ext4(device)), EBUSY);
     }},
    {"read-only", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       Mount wanted = ext4(device);
       wanted.flags = MS_RDONLY;
       check.gives("mount", mount_it(wanted), 0);
       check.fails("making a file", ::open("place/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600),
                   EROFS);
     }},
    {"by a relative path", Off::kFails,
     [](const Checks& check) {
       static_cast<void>(image(check));
       prepare_place(check);
       check.gives("mount", mount_it(ext4("../image")), 0);
     }},
    // The emulator's working directory is the caller's only where the target is relative.
    {"by a relative path, on an absolute one", Off::kFails,
     [](const Checks& check) {
       static_cast<void>(image(check));
       prepare_place(check);
       Mount wanted = ext4("../image");
       wanted.target = check.path("place");
       check.gives("mount", mount_it(wanted), 0);
     }},
    // Only of the target is /proc/self made the caller's.
    {"by a descriptor in /proc", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       const int fd = open_descriptor(check, device, O_PATH);
       const std::string source = "/proc/self/fd/" + std::to_string(fd);
       check.gives("mount", mount_it(ext4(source)), 0);
     }},
    {"by the working directory in /proc", Off::kFails,
     [](const Checks& check) {
       static_cast<void>(image(check));
       prepare_place(check);
       check.gives("mount", mount_it(ext4("/proc/self/cwd/../image")), 0);
     }},
    {"through a link", Off::kFails,
     [](const Checks& check) {
       static_cast<void>(image(check));
       prepare_place(check);
       make_link(check, "../image", "link");
       check.gives("mount", mount_it(ext4("link")), 0);
     }},
    {"sources that are no block device", Off::kFails,
     [](const Checks& check) {
       prepare_capable(check);
       fail_sources(check, ENOENT);
     }},
    {"source behind a directory that the caller may not search", Off::kFails,
     [](const Checks& check) {
       prepare_capable(check);
       make_directory(check, "closed", 0700);
       make_file(check, "closed/file");
       change_owner(check, "closed", 1234, 1234);
       keep_capabilities(check, {CAP_SYS_ADMIN});
       check.fails("mount", mount_it(ext4("closed/file")), EACCES);
     }},
    // It is looked up as a path: ENOENT.
    {"empty source", Off::kFails,
     [](const Checks& check) {
       prepare_capable(check);
       check.fails("mount", mount_it(ext4("")), EINVAL);
     }},
    // Left to the kernel, which refuses it before it looks.
    {"no source", Off::kFails,
     [](const Checks& check) {
       prepare_capable(check);
       check.fails("mount", mount_it({.target = "place", .type = "ext4", .source = nullptr}),
                   EINVAL);
     }},
    {"target before source", Off::kHolds,
     [](const Checks& check) {
       prepare_capable(check);
       check.fails("mount", mount_it({.target = "x", .type = "ext4", .source = "y"}), ENOENT);
       make_file(check, "file");
       check.fails("below a file", mount_it({.target = "file/x", .type = "ext4", .source = "y"}),
                   ENOTDIR);
     }},
    // It is moved there, for which the kernel has another errno: EINVAL.
    {"target that is no directory", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       make_file(check, "file");
       Mount wanted = ext4(device);
       wanted.target = "file";
       check.fails("mount", mount_it(wanted), ENOTDIR);
     }},
    {"another type than the device has", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       const long result =
           mount_it({.target = "place", .type = "squashfs", .source = device.c_str()});
       if (result == -1 && errno == ENODEV) check.skip("this kernel has no squashfs");
       check.fails("mount", result, EINVAL);
     }},
    {"chroot'ed caller", Off::kFails,
     [](const Checks& check) {
       static_cast<void>(image(check));
       prepare_place(check);
       check.arrange("chroot", ::chroot("..") == 0);
       check.gives("mount", mount_it(ext4("/image")), 0);
       check.holds("it is there", is_mounted());
     }},
};

}  // namespace

std::span<const Case> mount_devices() {
  return kCases;
}

}  // namespace sidecall::grid
