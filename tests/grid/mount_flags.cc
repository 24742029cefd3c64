// Every bit of mount(2)'s flags, on each kind of filesystem.
#include <unistd.h>

#include <array>

#include "grid/caller.h"
#include "grid/mount.h"

namespace sidecall::grid {
namespace {

constexpr unsigned kBits = 32;
constexpr std::uint64_t kNoSymlinkFollow = 256;  // MS_NOSYMFOLLOW, which glibc 2.36 has not
constexpr std::uint64_t kNoUser = 1U << 31U;     // MS_NOUSER
// What makes another call of mount(2) than the mount of a filesystem.
constexpr std::uint64_t kOtherActions =
    MS_REMOUNT | MS_BIND | MS_MOVE | MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE;

// What statfs(2) shows of flags: ST_* of linux/statfs.h.
std::uint64_t shown(std::uint64_t flags) {
  constexpr std::uint64_t kRelative = 0x1000;
  constexpr std::uint64_t kNoSymlinks = 0x2000;
  std::uint64_t wanted = 0;
  for (const std::uint64_t same : {MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_SYNCHRONOUS,
                                   MS_MANDLOCK, MS_NOATIME, MS_NODIRATIME}) {
    wanted |= flags & same;
  }
  if ((flags & kNoSymlinkFollow) != 0) wanted |= kNoSymlinks;
  if ((flags & (MS_NOATIME | MS_STRICTATIME)) == 0) wanted |= kRelative;
  if ((flags & MS_STRICTATIME) != 0) wanted &= ~std::uint64_t{MS_NOATIME};
  return wanted;
}

bool is_for_a_mount(std::uint64_t flags) {
  return (flags & kOtherActions) == 0 && (flags & kNoUser) == 0;
}

void mount_with(const Checks& check, Mount mount, std::uint64_t flags, std::uint64_t ignored) {
  const std::string what = "flags " + std::to_string(flags);
  mount.flags = flags;
  check.gives(what, mount_it(mount), 0);
  const std::uint64_t got = mount_flags("place");
  check.gives(what + " as statfs shows them", static_cast<long>(got & ~ignored),
              static_cast<long>(shown(flags) & ~ignored));
  check.gives("umount", unmount("place", MNT_DETACH), 0);
}

void mount_with_each(const Checks& check, const Mount& mount, std::uint64_t ignored) {
  for (unsigned bit = 0; bit < kBits; ++bit) {
    const std::uint64_t flags = std::uint64_t{1} << bit;
    if (is_for_a_mount(flags)) mount_with(check, mount, flags, ignored);
  }
}

// Of the mount, not of the filesystem, which is one for several mounts of proc.
constexpr std::uint64_t kOfFilesystem = MS_SYNCHRONOUS | MS_MANDLOCK;

constexpr Case kCases[] = {
    {"each bit, tmpfs", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_with_each(check, {.target = "place"}, 0);
     }},
    {"each pair of bits that a mount keeps, tmpfs", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       constexpr std::array<std::uint64_t, 9> kKept = {
           MS_RDONLY,  MS_NOSUID,     MS_NODEV,    MS_NOEXEC,     kNoSymlinkFollow,
           MS_NOATIME, MS_NODIRATIME, MS_RELATIME, MS_STRICTATIME};
       for (const std::uint64_t one : kKept) {
         for (const std::uint64_t other : kKept) {
           if (one < other) mount_with(check, {.target = "place"}, one | other, 0);
         }
       }
     }},
    {"all bits at once, tmpfs", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_with(check, {.target = "place"}, 0xffffffffU & ~kOtherActions & ~kNoUser, 0);
     }},
    {"no bit, tmpfs", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       mount_with(check, {.target = "place"}, 0, 0);
     }},
    {"magic number in the upper half", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       // Whose bits then mean nothing: MS_NOUSER and MS_SHARED are among them.
       for (const std::uint64_t flags : {0UL, MS_RDONLY | 0UL, MS_NOSUID | MS_NODEV | 0UL}) {
         const Mount wanted{.target = "place", .flags = MS_MGC_VAL | flags};
         check.gives("mount", mount_it(wanted), 0);
         check.holds("its lower half counts", mount_flags("place") == shown(flags));
       }
     }},
    {"bits above the 32nd", Off::kHolds,
     [](const Checks& check) {
       if constexpr (sizeof(long) == 8) {
         const std::string device = image(check);
         prepare_place(check);
         // MS_NOUSER is a negative number: all of them are in it.
         for (unsigned bit = 32; bit < 64; ++bit) {
           const std::uint64_t flags = std::uint64_t{1} << bit;
           const std::string what = ", bit " + std::to_string(bit);
           check.fails("tmpfs" + what, mount_it({.target = "place", .flags = flags}), EINVAL);
           const Mount wanted{
               .target = "place", .type = "ext4", .flags = flags, .source = device.c_str()};
           check.fails("ext4" + what, mount_it(wanted), EINVAL);
         }
       }
     }},
    {"each bit, proc", Off::kLimit,
     [](const Checks& check) {
       prepare_place(check);
       mount_with_each(check, {.target = "place", .type = "proc", .source = "proc"},
                       kOfFilesystem | MS_NOSUID | MS_NODEV | MS_NOEXEC | shown(MS_STRICTATIME) |
                           shown(0) | MS_NOATIME | MS_NODIRATIME);
     }},
    // A copy of the sandbox's own proc, whose times of access the kernel has locked, as it does
    // where the mount namespace came from a more privileged user namespace: EPERM.
    {"times of access, proc", Off::kLimit,
     [](const Checks& check) {
       prepare_place(check);
       const Mount proc{.target = "place", .type = "proc", .source = "proc"};
       for (const std::uint64_t flags : {MS_NOATIME, MS_NODIRATIME, MS_STRICTATIME}) {
         mount_with(check, proc, flags, MS_NOSUID | MS_NODEV | MS_NOEXEC);
       }
     }},
    {"each bit, a device", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       // Always nodev in a container.
       mount_with_each(check, {.target = "place", .type = "ext4", .source = device.c_str()},
                       MS_NODEV);
     }},
    {"nodev of a device's mount", Off::kFails,
     [](const Checks& check) {
       const std::string device = image(check);
       prepare_place(check);
       const Mount wanted{.target = "place", .type = "ext4", .source = device.c_str()};
       check.gives("mount", mount_it(wanted), 0);
       check.holds("it is there", (mount_flags("place") & MS_NODEV) != 0);
     },
     Where::kContainerOnly},
    {"MS_NOUSER", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       check.fails("tmpfs", mount_it({.target = "place", .flags = kNoUser}), EINVAL);
       check.fails("a target that is not there", mount_it({.target = "x", .flags = kNoUser}),
                   ENOENT);
     }},
    {"MS_NOUSER, without CAP_SYS_ADMIN", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       check.fails("tmpfs", mount_it({.target = "place", .flags = kNoUser}), EINVAL);
     }},
    // Not looked at.
    {"MS_NOUSER, proc", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       check.fails("mount", mount_it({.target = "place", .type = "proc", .flags = kNoUser}),
                   EINVAL);
     }},
    {"MS_NOUSER, a device", Off::kHolds,
     [](const Checks& check) {
       const std::string device = image(check);
       own_mounts(check);
       make_directory(check, "place");
       const Mount wanted{
           .target = "place", .type = "ext4", .flags = kNoUser, .source = device.c_str()};
       check.fails("ext4", mount_it(wanted), EINVAL);
     }},
};

}  // namespace

std::span<const Case> mount_flag_bits() {
  return kCases;
}

}  // namespace sidecall::grid
