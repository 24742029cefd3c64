#include "kernel/host_schedule.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace sidecall::kernel {
namespace {

// sched_setattr(2), first version. glibc 2.36 has neither the type nor the calls.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

constexpr std::uint64_t kResetOnFork = 1;  // SCHED_FLAG_RESET_ON_FORK
constexpr int kIoprioWhoProcess = 1;

int set_attributes(pid_t thread, const Schedule& wanted) {
  SchedulingAttributes attributes;
  attributes.policy = wanted.policy;
  attributes.flags = wanted.reset_on_fork ? kResetOnFork : 0;
  attributes.nice = wanted.nice;
  attributes.priority = wanted.priority;
  return ::syscall(SYS_sched_setattr, thread, &attributes, 0) == 0 ? 0 : errno;
}

// Whether the task that the directory is bound to has not been reaped.
bool is_there(const ThreadDirectory& directory) {
  const auto stat = directory.open_file("stat", O_RDONLY);
  char byte = 0;
  return stat && ::read(stat->get(), &byte, 1) == 1;
}

// The fourth field of /proc/TID/stat: proc(5).
pid_t parent_of(const ThreadDirectory& directory) {
  const auto stat = directory.open_file("stat", O_RDONLY);
  std::array<char, 512> text{};
  if (!stat || ::read(stat->get(), text.data(), text.size() - 1) <= 0) return 0;
  const std::string_view all(text.data());
  const auto name_end = all.rfind(") ");
  if (name_end == std::string_view::npos || name_end + 4 >= all.size()) return 0;
  return static_cast<pid_t>(std::strtol(all.data() + name_end + 4, nullptr, 10));
}

}  // namespace

SysResult<bool> HostSchedule::is_ours(const ThreadDirectory& directory) const {
  const auto theirs = directory.namespace_id("ns/user");
  if (!theirs) {
    const int number = theirs.error().value;
    return sys_failure(number == kOutOfReach ? EACCES : number);
  }
  struct stat ours {};
  if (::fstat(user_namespace_, &ours) != 0) return sys_failure(errno);
  return *theirs == NamespaceId{.inode = ours.st_ino};
}

SysResult<void> HostSchedule::on(pid_t thread, FunctionRef<int()> act) const {
  const auto directory = ThreadDirectory::open(proc_, thread);
  if (!directory) return sys_failure(ESRCH);
  const auto ours = is_ours(*directory);
  if (!ours) return tl::unexpected<Errno>(ours.error());
  if (!*ours) return sys_failure(EPERM);
  const int number = act();
  if (!is_there(*directory)) {
    restore_stranger(thread);
    return sys_failure(ESRCH);
  }
  if (number != 0) return sys_failure(number);
  return {};
}

void HostSchedule::restore_stranger(pid_t thread) const {
  const auto directory = ThreadDirectory::open(proc_, thread);
  if (!directory || is_ours(*directory).value_or(true)) return;
  const pid_t parent = parent_of(*directory);
  const auto inherited = get(parent);
  if (!inherited) return;
  static_cast<void>(set_attributes(thread, *inherited));
  const long io_priority = ::syscall(SYS_ioprio_get, kIoprioWhoProcess, parent);
  if (io_priority >= 0) {
    static_cast<void>(::syscall(SYS_ioprio_set, kIoprioWhoProcess, thread, io_priority));
  }
}

SysResult<void> HostSchedule::set(pid_t thread, const Schedule& wanted) const {
  return on(thread, [&] { return set_attributes(thread, wanted); });
}

SysResult<void> HostSchedule::set_nice(pid_t thread, int nice) const {
  return on(thread, [&] {
    return ::setpriority(PRIO_PROCESS, static_cast<id_t>(thread), nice) == 0 ? 0 : errno;
  });
}

SysResult<void> HostSchedule::set_io_priority(pid_t thread, int priority) const {
  return on(thread, [&] {
    return ::syscall(SYS_ioprio_set, kIoprioWhoProcess, thread, priority) == 0 ? 0 : errno;
  });
}

SysResult<Schedule> HostSchedule::get(pid_t thread) {
  SchedulingAttributes attributes;
  if (::syscall(SYS_sched_getattr, thread, &attributes, sizeof attributes, 0) != 0) {
    return sys_failure(errno);
  }
  // Under a real-time policy the other call does not show it, and it is kept.
  errno = 0;
  const int nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
  if (errno != 0) return sys_failure(errno);
  return Schedule{.policy = attributes.policy,
                  .reset_on_fork = (attributes.flags & kResetOnFork) != 0,
                  .nice = nice,
                  .priority = attributes.priority};
}

}  // namespace sidecall::kernel
