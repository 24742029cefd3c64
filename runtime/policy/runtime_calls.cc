#include "policy/runtime_calls.h"

#include <algorithm>
#include <array>
#include <span>

namespace sidecall::policy {
namespace {

constexpr std::string_view kHandOver =
    "the OCI runtime uses it between installing the filter and sending the listener";
// Seen with strace on crun 1.8 and runc 1.1, with and without noNewPrivileges: prctl, read, wait4
// and write. Other releases send the listener from under the filter, so that what they can wait or
// send with is here as well.
constexpr std::array<std::string_view, 31> kHandOverCalls = {
    "close",    "close_range",     "dup",          "dup2",
    "dup3",     "fcntl",           "fcntl64",      "fork",
    "poll",     "ppoll",           "ppoll_time64", "prctl",
    "pselect6", "pselect6_time64", "read",         "readv",
    "recv",     "recvfrom",        "recvmsg",      "seccomp",
    "select",   "_newselect",      "send",         "sendmsg",
    "sendto",   "vfork",           "wait4",        "waitid",
    "waitpid",  "write",           "writev"};

constexpr std::string_view kAnyMoment =
    "C libraries and the Go runtime of the OCI runtime use it at any moment, also before the "
    "listener is sent";
constexpr std::array<std::string_view, 48> kAnyMomentCalls = {"brk",
                                                              "clock_gettime",
                                                              "clock_gettime64",
                                                              "clock_nanosleep",
                                                              "clock_nanosleep_time64",
                                                              "clone",
                                                              "clone3",
                                                              "epoll_create",
                                                              "epoll_create1",
                                                              "epoll_ctl",
                                                              "epoll_pwait",
                                                              "epoll_pwait2",
                                                              "epoll_wait",
                                                              "eventfd",
                                                              "eventfd2",
                                                              "exit",
                                                              "exit_group",
                                                              "futex",
                                                              "futex_time64",
                                                              "futex_wait",
                                                              "futex_wake",
                                                              "getpid",
                                                              "getrandom",
                                                              "gettid",
                                                              "gettimeofday",
                                                              "madvise",
                                                              "membarrier",
                                                              "mmap",
                                                              "mmap2",
                                                              "mprotect",
                                                              "mremap",
                                                              "munmap",
                                                              "nanosleep",
                                                              "pipe",
                                                              "pipe2",
                                                              "restart_syscall",
                                                              "rseq",
                                                              "rt_sigaction",
                                                              "rt_sigprocmask",
                                                              "rt_sigreturn",
                                                              "sched_getaffinity",
                                                              "sched_yield",
                                                              "set_robust_list",
                                                              "set_tid_address",
                                                              "sigaltstack",
                                                              "sigreturn",
                                                              "tgkill",
                                                              "tkill"};

bool contains(std::span<const std::string_view> calls, std::string_view syscall) {
  return std::find(calls.begin(), calls.end(), syscall) != calls.end();
}

}  // namespace

std::string_view why_start_would_hang(std::string_view syscall) {
  if (contains(kHandOverCalls, syscall)) return kHandOver;
  if (contains(kAnyMomentCalls, syscall)) return kAnyMoment;
  return "";
}

}  // namespace sidecall::policy
