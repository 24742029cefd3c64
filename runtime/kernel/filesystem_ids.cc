#include "kernel/filesystem_ids.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace sidecall::kernel {
namespace {

// They report no failure: asking again with an id that cannot be gives the current one.
bool set_id(long call, unsigned id) {
  ::syscall(call, id);
  if (static_cast<unsigned>(::syscall(call, -1)) == id) return true;
  errno = EPERM;
  return false;
}

}  // namespace

bool set_filesystem_user(uid_t user) {
  return set_id(SYS_setfsuid, user);
}

bool set_filesystem_group(gid_t group) {
  return set_id(SYS_setfsgid, group);
}

}  // namespace sidecall::kernel
