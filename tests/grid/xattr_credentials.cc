// Who may: the thread's own capabilities in the sandbox's user namespace, whatever its ids.
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "grid/caller.h"
#include "grid/xattr.h"

namespace sidecall::grid {
namespace {

constexpr uid_t kUser = 1234;

constexpr Case kCases[] = {
    {"root without CAP_SYS_ADMIN", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       drop_capability(check, CAP_SYS_ADMIN);
       check.fails("setxattr", set_attribute("file"), EPERM);
       check.fails("setxattr of nothing", set_attribute("none"), ENOENT);
       check.fails("removexattr", remove_attribute("file"), EPERM);
       check.fails("getxattr", ::getxattr("file", kOpaque, nullptr, 0), ENODATA);
     }},
    {"root with CAP_SYS_ADMIN alone", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       keep_capabilities(check, {CAP_SYS_ADMIN});
       check.gives("setxattr", set_attribute("file"), 0);
     }},
    {"thread without CAP_SYS_ADMIN", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       in_thread([&] {
         drop_capability(check, CAP_SYS_ADMIN);
         check.fails("setxattr", set_attribute("file"), EPERM);
       });
       check.gives("setxattr of the other thread", set_attribute("file"), 0);
     }},
    {"user with CAP_SYS_ADMIN", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       act_as(check, {.uid = kUser, .gid = kUser}, {CAP_SYS_ADMIN});
       check.gives("setxattr of another's file", set_attribute("file"), 0);
     }},
    {"user with CAP_SYS_ADMIN who may not search", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a", 0700);
       make_file(check, "a/file");
       act_as(check, {.uid = kUser, .gid = kUser}, {CAP_SYS_ADMIN});
       check.fails("setxattr", set_attribute("a/file"), EACCES);
       check.fails("setxattr of nothing", set_attribute("a/none"), EACCES);
     }},
    {"user who may not search but for CAP_DAC_READ_SEARCH", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a", 0700);
       make_file(check, "a/file");
       act_as(check, {.uid = kUser, .gid = kUser}, {CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH});
       check.gives("setxattr", set_attribute("a/file"), 0);
     }},
    {"file of another that nobody may write", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       change_owner(check, "file", kUser, kUser);
       check.arrange("chmod", ::chmod("file", 0) == 0);
       check.gives("setxattr", set_attribute("file"), 0);
       check.holds("it is there", has_attribute("file", "y"));
     }},
    {"caller that is not dumpable", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       check.arrange("PR_SET_DUMPABLE", ::prctl(PR_SET_DUMPABLE, 0) == 0);
       check.gives("setxattr", set_attribute("file"), 0);
     }},
    {"user namespace of the caller's own", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       check.arrange("unshare", ::unshare(CLONE_NEWUSER) == 0);
       check.fails("setxattr", set_attribute("file"), EPERM);
       check.fails("removexattr", remove_attribute("file"), EPERM);
     }},
    {"file of an owner that the container has not", Off::kHolds,
     [](const Checks& check) {
       struct stat status {};
       check.arrange("stat /", ::stat("/", &status) == 0);
       if (status.st_uid == 0) check.skip("the root directory is the container's own");
       check.fails("setxattr", set_attribute("/"), EPERM);
     },
     Where::kContainerOnly},
};

}  // namespace

std::span<const Case> xattr_credentials() {
  return kCases;
}

}  // namespace sidecall::grid
