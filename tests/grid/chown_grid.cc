// chown(2) and its kin, where they are pretended: success for everybody, and no owner changes.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>

#include "grid/caller.h"

namespace sidecall::grid {
namespace {

// No id of a container of 65,536 ids.
constexpr uid_t kStranger = 70'000;
constexpr uid_t kUser = 1234;

// The calls that take ids of 32 bits. Those of i386 have a name of their own.
#if defined(__i386__)
constexpr long kChown = SYS_chown32;
constexpr long kLchown = SYS_lchown32;
constexpr long kFchown = SYS_fchown32;
#else
constexpr long kChown = SYS_chown;
constexpr long kLchown = SYS_lchown;
constexpr long kFchown = SYS_fchown;
#endif

// Every call, for `path`, with what came of it.
void give_by_each(const char* path, uid_t uid, gid_t gid,
                  const std::function<void(std::string_view, long)>& came) {
  came("chown", ::syscall(kChown, path, uid, gid));
  came("lchown", ::syscall(kLchown, path, uid, gid));
  came("fchownat", ::syscall(SYS_fchownat, AT_FDCWD, path, uid, gid, 0));
  came("fchownat of the link",
       ::syscall(SYS_fchownat, AT_FDCWD, path, uid, gid, AT_SYMLINK_NOFOLLOW));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  came("fchown", ::syscall(kFchown, fd, uid, gid));
  came("fchownat of the descriptor", ::syscall(SYS_fchownat, fd, "", uid, gid, AT_EMPTY_PATH));
  ::close(fd);
}

void succeed_by_each(const Checks& check, const char* path, uid_t uid, gid_t gid) {
  give_by_each(path, uid, gid,
               [&](std::string_view call, long result) { check.gives(call, result, 0); });
}

bool is_owned_by(const char* path, uid_t uid, gid_t gid) {
  struct stat status {};
  return ::lstat(path, &status) == 0 && status.st_uid == uid && status.st_gid == gid;
}

constexpr Case kCases[] = {
    {"to an id of the container", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       succeed_by_each(check, "file", 12, 34);
     }},
    {"to nobody", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       succeed_by_each(check, "file", static_cast<uid_t>(-1), static_cast<gid_t>(-1));
       check.holds("it is as before", is_owned_by("file", 0, 0));
     }},
    {"to an id that the container has not", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       succeed_by_each(check, "file", kStranger, static_cast<gid_t>(-1));
       succeed_by_each(check, "file", static_cast<uid_t>(-1), kStranger);
     }},
    {"of a link", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       make_link(check, "file", "link");
       succeed_by_each(check, "link", kStranger, kStranger);
     }},
    {"by a user", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       act_as(check, {.uid = kUser, .gid = kUser}, {});
       succeed_by_each(check, "file", kUser, kUser);
       in_thread([&] { succeed_by_each(check, "file", kUser, kUser); });
     },
     Where::kContainerOnly},
    {"by a user of the host", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       act_as(check, {.uid = kUser, .gid = kUser}, {});
       give_by_each("file", kUser, kUser,
                    [&](std::string_view call, long result) { check.fails(call, result, EPERM); });
     },
     Where::kNativeOnly},
    {"owner and mode stay", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       check.arrange("chmod", ::chmod("file", 06755) == 0);
       succeed_by_each(check, "file", 12, 34);
       struct stat status {};
       check.holds("the owner", is_owned_by("file", 0, 0));
       check.holds("the mode", ::stat("file", &status) == 0 && (status.st_mode & 07777) == 06755);
     },
     Where::kContainerOnly},
#if defined(__i386__)
    {"calls with ids of 16 bits", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       const int fd = open_descriptor(check, "file", O_RDONLY);
       check.gives("chown", ::syscall(SYS_chown, "file", 12, 34), 0);
       check.gives("lchown", ::syscall(SYS_lchown, "file", 0xffff, 34), 0);
       check.gives("fchown", ::syscall(SYS_fchown, fd, 12, 0xffff), 0);
     }},
#endif
    // Neither paths nor descriptors are looked at.
    {"paths that lead nowhere", Off::kLimit,
     [](const Checks& check) {
       give_by_each("nowhere", 0, 0, [&](std::string_view call, long result) {
         check.holds(call, result == -1 && (errno == ENOENT || errno == EBADF));
       });
     }},
    {"path at NULL", Off::kLimit,
     [](const Checks& check) {
       check.fails("chown", ::syscall(kChown, nullptr, 0, 0), EFAULT);
       check.fails("lchown", ::syscall(kLchown, nullptr, 0, 0), EFAULT);
     }},
    {"flags that there are not", Off::kLimit,
     [](const Checks& check) {
       make_file(check, "file");
       check.fails("fchownat", ::syscall(SYS_fchownat, AT_FDCWD, "file", 0, 0, 1), EINVAL);
     }},
};

}  // namespace

Grid grid() {
  return {.name = "chown",
          .policy = R"({"rules": [{"emulate": "chown", "options": {"mode": "pretend"}}]})",
          .themes = {{"pretended", kCases}}};
}

}  // namespace sidecall::grid
