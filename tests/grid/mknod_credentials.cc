// Who asks: ids, groups, umask, capabilities and user namespaces of the caller.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "grid/caller.h"
#include "grid/mknod.h"

namespace sidecall::grid {
namespace {

// Ids that are nobody's in particular. All are mapped in a container of 65,536 ids.
constexpr uid_t kUser = 1234;
constexpr gid_t kGroup = 2345;
constexpr gid_t kOtherGroup = 3456;

bool is_owned_by(const std::string& path, uid_t uid, gid_t gid) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && status.st_uid == uid && status.st_gid == gid;
}

void make_under_umask(const Checks& check, mode_t mask, mode_t wanted) {
  ::umask(mask);
  const std::string name = "node" + std::to_string(mask);
  check.gives("mknod " + name, make_node(name, S_IFCHR | 0666), 0);
  struct stat status {};
  check.holds(name + " has the mode that the umask leaves",
              ::lstat(name.c_str(), &status) == 0 && (status.st_mode & 07777) == wanted);
}

void enter_user_namespace(const Checks& check, bool mapped) {
  check.arrange("unshare CLONE_NEWUSER", ::unshare(CLONE_NEWUSER) == 0);
  if (!mapped) return;
  const int map = open_descriptor(check, "/proc/self/uid_map", O_WRONLY);
  check.arrange("uid_map", ::write(map, "0 0 1", 5) == 5);
}

constexpr Case kCases[] = {
    {"umask", Off::kFails,
     [](const Checks& check) {
       make_under_umask(check, 0, 0666);
       make_under_umask(check, 027, 0640);
       make_under_umask(check, 0777, 0);
     }},
    {"owner", Off::kFails,
     [](const Checks& check) {
       check.gives("mknod", make_node("node"), 0);
       check.holds("it is root's", is_owned_by("node", 0, 0));
     }},
    {"owner of other filesystem ids", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a", 0777);
       act_as(check, {.uid = kUser, .gid = kGroup}, {CAP_MKNOD});
       check.gives("mknod", make_node("a/node"), 0);
       check.holds("it is theirs", is_owned_by("a/node", kUser, kGroup));
     }},
    {"set-group-id directory", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       change_owner(check, "a", 0, kGroup);
       check.arrange("chmod", ::chmod("a", 02755) == 0);
       check.gives("mknod", make_node("a/node"), 0);
       check.holds("it has the directory's group", is_owned_by("a/node", 0, kGroup));
     }},
    {"without CAP_MKNOD", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       drop_capability(check, CAP_MKNOD);
       check.fails("mknod", make_node("node"), EPERM);
       check.fails("mknodat", make_node_at(AT_FDCWD, "node"), EPERM);
       check.fails("mknod of what is there", make_node("file"), EEXIST);
       check.fails("mknod below what is not", make_node("a/node"), ENOENT);
       check.fails("mknod of NULL", make_node_raw(nullptr, kCharacter, encoded(kNull)), EFAULT);
       check.gives("mknod of a whiteout", make_node("whiteout", S_IFCHR, {0, 0}), 0);
     }},
    {"without CAP_MKNOD and without the right to write", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a");
       act_as(check, {.uid = kUser, .gid = kGroup}, {});
       check.fails("mknod", make_node("a/node"), EACCES);
     }},
    {"CAP_MKNOD given back", Off::kFails,
     [](const Checks& check) {
       keep_capabilities(check, {});
       check.fails("mknod without it", make_node("node"), EPERM);
       keep_capabilities(check, {CAP_MKNOD});
       check.gives("mknod with it", make_node("node"), 0);
     }},
    {"user without the right to write", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a");
       act_as(check, {.uid = kUser, .gid = kGroup}, {CAP_MKNOD});
       check.fails("mknod", make_node("a/node"), EACCES);
     }},
    {"user without the right to search", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a", 0700);
       make_directory(check, "a/b", 0777);
       make_file(check, "a/b/file");
       act_as(check, {.uid = kUser, .gid = kGroup}, {CAP_MKNOD});
       check.fails("mknod", make_node("a/b/node"), EACCES);
       check.fails("mknod of what is there", make_node("a/b/file"), EACCES);
       check.fails("mknod of what is hidden", make_node("a/c/node"), EACCES);
     }},
    {"user who owns the directory", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       change_owner(check, "a", kUser, 0);
       act_as(check, {.uid = kUser, .gid = kGroup}, {CAP_MKNOD});
       check.gives("mknod", make_node("a/node"), 0);
     }},
    {"user whose group may write", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       change_owner(check, "a", 0, kGroup);
       check.arrange("chmod", ::chmod("a", 0775) == 0);
       act_as(check, {.uid = kUser, .gid = kGroup}, {CAP_MKNOD});
       check.gives("mknod", make_node("a/node"), 0);
     }},
    {"user whose supplementary group may write", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       change_owner(check, "a", 0, kOtherGroup);
       check.arrange("chmod", ::chmod("a", 0775) == 0);
       act_as(check, {.uid = kUser, .gid = kGroup, .groups = {9999, kOtherGroup}}, {CAP_MKNOD});
       check.gives("mknod", make_node("a/node"), 0);
       check.holds("it has the first group", is_owned_by("a/node", kUser, kGroup));
     }},
    {"user whose groups may not write", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a");
       change_owner(check, "a", 0, kOtherGroup);
       // Others may, members of the group may not.
       check.arrange("chmod", ::chmod("a", 0757) == 0);
       act_as(check, {.uid = kUser, .gid = kGroup, .groups = {kOtherGroup}}, {CAP_MKNOD});
       check.fails("mknod", make_node("a/node"), EACCES);
     }},
    {"user in sixty groups", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       change_owner(check, "a", 0, kOtherGroup);
       check.arrange("chmod", ::chmod("a", 0775) == 0);
       Identity who{.uid = kUser, .gid = kGroup};
       for (gid_t gid = kOtherGroup - 59; gid <= kOtherGroup; ++gid) who.groups.push_back(gid);
       act_as(check, who, {CAP_MKNOD});
       check.gives("mknod", make_node("a/node"), 0);
     }},
    {"root in a directory that is not writable", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a", 0555);
       check.gives("mknod", make_node("a/node"), 0);
       check.holds("it is root's", is_owned_by("a/node", 0, 0));
     }},
    {"root in a directory of another", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a", 0700);
       change_owner(check, "a", kUser, kGroup);
       check.gives("mknod", make_node("a/node"), 0);
       check.holds("it is root's", is_owned_by("a/node", 0, 0));
     }},
    {"root through directories that nobody may search", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a", 0700);
       make_directory(check, "a/b", 0700);
       change_owner(check, "a/b", kUser, kGroup);
       check.arrange("chmod", ::chmod("a/b", 0) == 0 && ::chmod("a", 0) == 0);
       check.gives("mknod", make_node("a/b/node"), 0);
     }},
    {"user with CAP_DAC_OVERRIDE", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a", 0700);
       act_as(check, {.uid = kUser, .gid = kGroup}, {CAP_MKNOD, CAP_DAC_OVERRIDE});
       check.gives("mknod", make_node("a/node"), 0);
       check.holds("it is the user's", is_owned_by("a/node", kUser, kGroup));
     }},
    {"root without CAP_DAC_OVERRIDE", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a", 0555);
       make_directory(check, "b", 0);
       make_directory(check, "c", 0700);
       change_owner(check, "c", kUser, kGroup);
       keep_capabilities(check, {CAP_MKNOD});
       check.fails("mknod where it may not write", make_node("a/node"), EACCES);
       check.fails("mknod where it may nothing", make_node("b/node"), EACCES);
       check.fails("mknod where another may", make_node("c/node"), EACCES);
     }},
    {"root with CAP_DAC_READ_SEARCH alone", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a", 0700);
       make_directory(check, "a/b", 0555);
       make_directory(check, "a/c");
       check.arrange("chmod", ::chmod("a", 0) == 0);
       keep_capabilities(check, {CAP_MKNOD, CAP_DAC_READ_SEARCH});
       check.fails("mknod where it may not write", make_node("a/b/node"), EACCES);
       check.gives("mknod behind what it may not search", make_node("a/c/node"), 0);
     }},
    {"root in a directory of an owner that it does not know", Off::kHolds,
     [](const Checks& check) {
       struct stat status {};
       check.arrange("stat /", ::stat("/", &status) == 0);
       if (status.st_uid == 0) check.skip("the root directory is the container's own");
       check.fails("mknod", make_node("/sidecall-grid-node"), EACCES);
     },
     Where::kContainerOnly},
    {"caller that is not dumpable", Off::kFails,
     [](const Checks& check) {
       check.arrange("PR_SET_DUMPABLE", ::prctl(PR_SET_DUMPABLE, 0) == 0);
       check.gives("mknod", make_node("node"), 0);
       check.gives("mknodat", make_node_at(open_descriptor(check, ".", O_PATH), "other"), 0);
     }},
    {"caller without new privileges", Off::kFails,
     [](const Checks& check) {
       check.arrange("PR_SET_NO_NEW_PRIVS", ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
       check.gives("mknod", make_node("node"), 0);
     }},
    {"pid namespace of the caller's own", Off::kFails,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWPID", ::unshare(CLONE_NEWPID) == 0);
       in_child(check, [&] {
         check.arrange("process 1", ::getpid() == 1);
         check.gives("mknod", make_node("node"), 0);
       });
       check.holds("it is there", is_node("node"));
     }},
    {"user namespace of the caller's own", Off::kHolds,
     [](const Checks& check) {
       enter_user_namespace(check, false);
       check.fails("mknod", make_node("node"), EPERM);
     }},
    {"user namespace of the caller's own, as its root", Off::kHolds,
     [](const Checks& check) {
       enter_user_namespace(check, true);
       check.fails("mknod", make_node("node"), EPERM);
       check.fails("mknod of NULL", make_node_raw(nullptr, kCharacter, encoded(kNull)), EFAULT);
       check.gives("mknod of a whiteout", make_node("whiteout", S_IFCHR, {0, 0}), 0);
     }},
};

}  // namespace

std::span<const Case> mknod_credentials() {
  return kCases;
}

}  // namespace sidecall::grid
