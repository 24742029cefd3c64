// Both sides of one cell, each a process of its own: callers whose getppid is notified, and the
// supervisor. They are of one session, hence of one scheduler autogroup.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "bench/shape.h"

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

namespace sidecall::bench {
namespace {

constexpr int kMostCallers = 8;

struct alignas(64) Counter {
  std::atomic<std::uint64_t> calls{0};
};

struct Shared {
  std::atomic<bool> stop{false};
  std::atomic<int> listener{-1};  // its number in the callers' process
  std::array<Counter, kMostCallers> counters;
};

[[noreturn]] void stop_all(const char* what) {
  std::perror(what);
  std::exit(1);
}

int install_filter() {
  std::array<sock_filter, 4> code = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog program{.len = code.size(), .filter = code.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

[[noreturn]] void call(const Load& load, Shared& shared) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int listener = install_filter();
  if (listener < 0) stop_all("seccomp");
  shared.listener = listener;
  std::vector<std::thread> threads;
  threads.reserve(kMostCallers);
  for (int index = 0; index < load.callers; ++index) {
    threads.emplace_back([&load, &counter = shared.counters[static_cast<unsigned>(index)], index] {
      const auto& cpus = load.caller_cpus.empty() ? load.cpus : load.caller_cpus;
      const cpu_set_t mask = mask_of(
          load.pinned ? std::vector{cpus[static_cast<unsigned>(index) % cpus.size()]} : cpus);
      ::sched_setaffinity(0, sizeof mask, &mask);
      for (;;) {
        const long got = ::syscall(SYS_getppid);
        if (load.descriptors && ::close(static_cast<int>(got)) != 0) stop_all("close");
        counter.calls.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::exit(0);
}

// Takes the listener out of the callers' process, as an agent that was sent it would have it.
int fetch_listener(pid_t pid, const Shared& shared, bool sync) {
  while (shared.listener < 0) ::usleep(100);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  const int listener =
      static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd, shared.listener.load(), 0));
  if (listener < 0) stop_all("pidfd_getfd");
  ::close(pidfd);
  if (sync) {
    ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
  }
  return listener;
}

pid_t start(auto&& body) {
  const pid_t pid = ::fork();
  if (pid < 0) stop_all("fork");
  if (pid == 0) body();
  return pid;
}

void end(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

std::uint64_t total(const Shared& shared) {
  std::uint64_t calls = 0;
  for (const Counter& counter : shared.counters) calls += counter.calls;
  return calls;
}

}  // namespace

cpu_set_t mask_of(const std::vector<unsigned>& cpus) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const unsigned cpu : cpus) CPU_SET(cpu, &mask);
  return mask;
}

double measure(const Shape& shape, const Load& load, int milliseconds) {
  using Clock = std::chrono::steady_clock;
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) stop_all("mmap");
  auto& shared = *new (memory) Shared;

  const pid_t callers = start([&] { call(load, shared); });
  const int listener = fetch_listener(callers, shared, load.sync);
  const pid_t supervisor = start([&] {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const cpu_set_t mask = mask_of(load.cpus);
    ::sched_setaffinity(0, sizeof mask, &mask);
    shape.serve({.listener = listener, .load = load, .stop = shared.stop});
    ::_exit(0);
  });
  ::usleep(10'000);
  const auto before = total(shared);
  const auto begun = Clock::now();
  ::usleep(static_cast<unsigned>(milliseconds) * 1000);
  const auto calls = total(shared) - before;
  const std::chrono::duration<double> took = Clock::now() - begun;
  end(callers);
  end(supervisor);
  ::close(listener);
  ::munmap(memory, sizeof(Shared));
  return static_cast<double>(calls) / took.count();
}

}  // namespace sidecall::bench
