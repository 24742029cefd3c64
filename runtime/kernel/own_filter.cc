#include "kernel/own_filter.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>

#include <array>
#include <cerrno>
#include <memory>
#include <type_traits>

#include "kernel/sanitized.h"

namespace sidecall::kernel {
namespace {

constexpr std::array kMemoryAndThreads = {SCMP_SYS(brk),
                                          SCMP_SYS(mmap),
                                          SCMP_SYS(munmap),
                                          SCMP_SYS(mprotect),
                                          SCMP_SYS(madvise),
                                          SCMP_SYS(mremap),
                                          SCMP_SYS(futex),
                                          SCMP_SYS(set_robust_list),
                                          SCMP_SYS(rseq),
                                          SCMP_SYS(gettid),
                                          SCMP_SYS(getpid),
                                          SCMP_SYS(sched_yield),
                                          SCMP_SYS(sched_getaffinity),
                                          SCMP_SYS(sched_setaffinity),
                                          SCMP_SYS(getcpu),
                                          SCMP_SYS(exit),
                                          SCMP_SYS(exit_group),
                                          SCMP_SYS(rt_sigprocmask),
                                          SCMP_SYS(rt_sigaction),
                                          SCMP_SYS(rt_sigreturn),
                                          SCMP_SYS(tgkill),
                                          SCMP_SYS(restart_syscall),
                                          SCMP_SYS(getrandom),
                                          SCMP_SYS(clock_gettime),
                                          SCMP_SYS(clock_nanosleep)};

constexpr std::array kDescriptors = {
    SCMP_SYS(read),    SCMP_SYS(write),      SCMP_SYS(pread64),  SCMP_SYS(pwrite64),
    SCMP_SYS(readv),   SCMP_SYS(writev),     SCMP_SYS(close),    SCMP_SYS(fcntl),
    SCMP_SYS(dup),     SCMP_SYS(poll),       SCMP_SYS(ppoll),    SCMP_SYS(ioctl),
    SCMP_SYS(sendmsg), SCMP_SYS(recvmsg),    SCMP_SYS(sendto),   SCMP_SYS(recvfrom),
    SCMP_SYS(lseek),   SCMP_SYS(socketpair), SCMP_SYS(eventfd2), SCMP_SYS(timerfd_settime)};

// Looking at a caller, and becoming one.
constexpr std::array kCallers = {SCMP_SYS(process_vm_readv),
                                 SCMP_SYS(process_vm_writev),
                                 SCMP_SYS(pidfd_open),
                                 SCMP_SYS(pidfd_send_signal),
                                 SCMP_SYS(capget),
                                 SCMP_SYS(capset),
                                 SCMP_SYS(setfsuid),
                                 SCMP_SYS(setfsgid),
                                 SCMP_SYS(setgroups),
                                 SCMP_SYS(umask),
                                 SCMP_SYS(chroot),
                                 SCMP_SYS(chdir),
                                 SCMP_SYS(fchdir),
                                 SCMP_SYS(unshare),
                                 SCMP_SYS(setns),
                                 SCMP_SYS(prctl),
                                 SCMP_SYS(uname),
                                 SCMP_SYS(sysinfo)};

constexpr std::array kFiles = {
    SCMP_SYS(open),        SCMP_SYS(openat),       SCMP_SYS(openat2),      SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),  SCMP_SYS(stat),         SCMP_SYS(fstat),        SCMP_SYS(lstat),
    SCMP_SYS(newfstatat),  SCMP_SYS(statx),        SCMP_SYS(statfs),       SCMP_SYS(fstatfs),
    SCMP_SYS(access),      SCMP_SYS(faccessat),    SCMP_SYS(faccessat2),   SCMP_SYS(getdents64),
    SCMP_SYS(mknod),       SCMP_SYS(mknodat),      SCMP_SYS(mkdir),        SCMP_SYS(mkdirat),
    SCMP_SYS(unlink),      SCMP_SYS(unlinkat),     SCMP_SYS(rmdir),        SCMP_SYS(fchown),
    SCMP_SYS(fchownat),    SCMP_SYS(fchmod),       SCMP_SYS(fchmodat),     SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr),   SCMP_SYS(fsetxattr),    SCMP_SYS(getxattr),     SCMP_SYS(lgetxattr),
    SCMP_SYS(fgetxattr),   SCMP_SYS(listxattr),    SCMP_SYS(llistxattr),   SCMP_SYS(flistxattr),
    SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr), SCMP_SYS(mount),
    SCMP_SYS(umount2),     SCMP_SYS(open_tree),    SCMP_SYS(move_mount),   SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),    SCMP_SYS(fsmount),      SCMP_SYS(mount_setattr)};

constexpr std::array kScheduleAndClock = {
    SCMP_SYS(sched_getattr), SCMP_SYS(sched_setattr), SCMP_SYS(getpriority),
    SCMP_SYS(setpriority),   SCMP_SYS(ioprio_get),    SCMP_SYS(ioprio_set),
    SCMP_SYS(clock_settime), SCMP_SYS(settimeofday),  SCMP_SYS(clock_adjtime)};

// All that a process does which holds descriptors and hands them to who asks: sidecall-keeper.
constexpr std::array kHolding = {SCMP_SYS(accept4),
                                 SCMP_SYS(getsockopt),
                                 SCMP_SYS(geteuid),
                                 SCMP_SYS(recvmsg),
                                 SCMP_SYS(sendmsg),
                                 SCMP_SYS(close),
                                 SCMP_SYS(poll),
                                 SCMP_SYS(ppoll),
                                 SCMP_SYS(clock_gettime),
                                 SCMP_SYS(brk),
                                 SCMP_SYS(mmap),
                                 SCMP_SYS(munmap),
                                 SCMP_SYS(mremap),
                                 SCMP_SYS(clock_nanosleep),
                                 SCMP_SYS(restart_syscall),
                                 SCMP_SYS(write),
                                 SCMP_SYS(futex),
                                 SCMP_SYS(getpid),
                                 SCMP_SYS(gettid),
                                 SCMP_SYS(tgkill),
                                 SCMP_SYS(rt_sigprocmask),
                                 SCMP_SYS(rt_sigreturn),
                                 SCMP_SYS(exit),
                                 SCMP_SYS(exit_group)};

constexpr std::array kPrograms = {SCMP_SYS(execve), SCMP_SYS(execveat)};

// What neither we nor what we start has any business with.
constexpr std::array kNobodys = {SCMP_SYS(ptrace),
                                 SCMP_SYS(bpf),
                                 SCMP_SYS(init_module),
                                 SCMP_SYS(finit_module),
                                 SCMP_SYS(kexec_load),
                                 SCMP_SYS(kexec_file_load),
                                 SCMP_SYS(open_by_handle_at),
                                 SCMP_SYS(io_uring_setup),
                                 SCMP_SYS(userfaultfd)};

// What a filesystem's program has no business with besides, and could reach more of the kernel by
// than its container may.
constexpr std::array kNotForPrograms = {SCMP_SYS(delete_module),
                                        SCMP_SYS(perf_event_open),
                                        SCMP_SYS(keyctl),
                                        SCMP_SYS(add_key),
                                        SCMP_SYS(request_key),
                                        SCMP_SYS(unshare),
                                        SCMP_SYS(setns),
                                        SCMP_SYS(pivot_root),
                                        SCMP_SYS(chroot),
                                        SCMP_SYS(socket),
                                        SCMP_SYS(socketpair),
                                        SCMP_SYS(pidfd_getfd),
                                        SCMP_SYS(process_vm_readv),
                                        SCMP_SYS(process_vm_writev)};

// What gRPC waits and asks with, and memory to hand on.
constexpr std::array kCarrying = {SCMP_SYS(epoll_create1),  SCMP_SYS(epoll_ctl),
                                  SCMP_SYS(epoll_wait),     SCMP_SYS(epoll_pwait),
                                  SCMP_SYS(pipe2),          SCMP_SYS(getsockname),
                                  SCMP_SYS(getpeername),    SCMP_SYS(getsockopt),
                                  SCMP_SYS(setsockopt),     SCMP_SYS(shutdown),
                                  SCMP_SYS(memfd_create),   SCMP_SYS(fchmod),
                                  SCMP_SYS(prctl),          SCMP_SYS(uname),
                                  SCMP_SYS(sysinfo),        SCMP_SYS(fstat),
                                  SCMP_SYS(nanosleep),      SCMP_SYS(gettimeofday),
                                  SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler)};

struct Release {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};
using Filter = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, Release>;

// libseccomp leaves out what an architecture does not have.
template <std::size_t kCount>
int add(scmp_filter_ctx filter, std::uint32_t action, const std::array<int, kCount>& calls) {
  for (const int call : calls) {
    const int added = ::seccomp_rule_add_array(filter, action, call, 0, nullptr);
    if (added != 0) return added;
  }
  return 0;
}

// A thread, and no process. clone3(2), whose arguments a filter cannot see, is ENOSYS: the C
// library then does without.
int add_threads(scmp_filter_ctx filter) {
  constexpr scmp_arg_cmp kThread{.arg = 0,
                                 .op = SCMP_CMP_MASKED_EQ,
                                 .datum_a = CLONE_THREAD | CLONE_VM,
                                 .datum_b = CLONE_THREAD | CLONE_VM};
  return ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, &kThread);
}

// Of seccomp(2) the question that each receiver asks.
int add_sizes(scmp_filter_ctx filter) {
  constexpr scmp_arg_cmp kSizes{
      .arg = 0, .op = SCMP_CMP_EQ, .datum_a = SECCOMP_GET_NOTIF_SIZES, .datum_b = 0};
  return ::seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(seccomp), 1, &kSizes);
}

template <typename... Calls>
Result<void> filter_all_but(bool threads, const Calls&... allowed) {
  if (kSanitized) return {};  // a sanitizer's own calls are not ours to know
  const Filter filter(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)));
  if (!filter) return failure("no memory for a process's own seccomp filter");
  int failed = threads ? add_threads(filter.get()) : 0;
  if (threads && failed == 0) failed = add_sizes(filter.get());
  const auto also = [&](std::uint32_t action, const auto& calls) {
    if (failed == 0) failed = add(filter.get(), action, calls);
  };
  (also(SCMP_ACT_ALLOW, allowed), ...);
  also(SCMP_ACT_KILL_PROCESS, kPrograms);
  also(SCMP_ACT_KILL_PROCESS, kNobodys);
  if (failed == 0) failed = ::seccomp_load(filter.get());
  if (failed != 0) return errno_failure("putting a seccomp filter on the process itself", -failed);
  return {};
}

}  // namespace

Result<void> filter_own_calls(Duty duty) {
  switch (duty) {
    case Duty::kHolding:
      return filter_all_but(false, kHolding);
    case Duty::kCarrying:
      return filter_all_but(true, kMemoryAndThreads, kDescriptors, kCarrying);
    case Duty::kServing:
      break;
  }
  return filter_all_but(true, kMemoryAndThreads, kDescriptors, kCallers, kFiles, kScheduleAndClock);
}

Result<void> filter_program_calls() {
  const Filter filter(::seccomp_init(SCMP_ACT_ALLOW));
  if (!filter) return failure("no memory for a program's seccomp filter");
  // A process of the same namespaces alone; of clone3(2) a filter cannot see the arguments.
  constexpr std::uint64_t kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                        CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  int failed = add(filter.get(), SCMP_ACT_ERRNO(EPERM), kNobodys);
  if (failed == 0) failed = add(filter.get(), SCMP_ACT_ERRNO(EPERM), kNotForPrograms);
  if (failed == 0) failed = add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), std::array{SCMP_SYS(clone3)});
  for (std::uint64_t bit = 1; bit <= kNamespaces; bit <<= 1U) {
    if ((kNamespaces & bit) == 0) continue;
    const scmp_arg_cmp asked{.arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = bit, .datum_b = bit};
    if (failed == 0) {
      failed =
          ::seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, &asked);
    }
  }
  if (failed == 0) failed = ::seccomp_load(filter.get());
  if (failed != 0) return errno_failure("putting a seccomp filter on a program", -failed);
  return {};
}

}  // namespace sidecall::kernel
