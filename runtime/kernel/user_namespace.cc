#include "kernel/user_namespace.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/file.h"

namespace sidecall::kernel {
namespace {

std::string file_of(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

Result<IdMap> read_map(pid_t pid, const char* name) {
  const std::string path = file_of(pid, name);
  auto text = read_file(path);
  if (!text) return pass_on(std::move(text));
  auto map = IdMap::parse(*text);
  if (!map) return pass_on(std::move(map), path);
  return map;
}

}  // namespace

Result<SandboxUsers> sandbox_users(pid_t first_pid) {
  struct stat theirs {};
  struct stat ours {};
  const std::string path = file_of(first_pid, "ns/user");
  auto name_space = open_file(path, O_RDONLY);
  if (!name_space) return pass_on(std::move(name_space));
  if (::fstat(name_space->get(), &theirs) != 0) return errno_failure("looking at " + path);
  if (::stat("/proc/self/ns/user", &ours) != 0) return errno_failure("own user namespace");
  SandboxUsers users;
  users.name_space = std::move(*name_space);
  users.own = theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
  if (users.own) {
    users.ids = {.users = IdMap::identity(), .groups = IdMap::identity()};
    return users;
  }
  auto user_map = read_map(first_pid, "uid_map");
  if (!user_map) return pass_on(std::move(user_map));
  auto group_map = read_map(first_pid, "gid_map");
  if (!group_map) return pass_on(std::move(group_map));
  users.ids = {.users = std::move(*user_map), .groups = std::move(*group_map)};
  return users;
}

Result<void> join_user_namespace(const SandboxUsers& users) {
  if (users.own) return {};
  const auto user = users.ids.users.first_inside();
  const auto group = users.ids.groups.first_inside();
  if (!user || !group) return failure("the sandbox's user namespace has no ids");
  // While this is still allowed: inside, setgroups(2) may be denied.
  if (::setgroups(0, nullptr) != 0) return errno_failure("dropping supplementary groups");
  if (::setns(users.name_space.get(), CLONE_NEWUSER) != 0) {
    return errno_failure("entering the sandbox's user namespace");
  }
  // Or else leaving the id 0 of outside, where 0 is not mapped, would clear the capabilities.
  if (::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) != 0) {
    return errno_failure("setting securebits");
  }
  // Until here the ids are those of outside: root's, as a rule, with its access to root's files.
  if (::setresgid(*group, *group, *group) != 0 || ::setresuid(*user, *user, *user) != 0) {
    return errno_failure("becoming the sandbox's first user");
  }
  return {};
}

}  // namespace sidecall::kernel
