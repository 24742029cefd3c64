/* Callers that end, stop, change what they are, or are very many, with calls under way. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

static void call_for_ever(void) {
  struct sysinfo info;
  struct utsname names;
  for (;;) {
    sysinfo(&info);
    uname(&names);
    if (mknod("node", S_IFCHR | 0600, null_device()) == 0) unlink("node");
  }
}

static pid_t start_caller(void) {
  const pid_t child = fork();
  if (child < 0) give_up("fork");
  if (child == 0) call_for_ever();
  return child;
}

static void* call_on_thread(void* unused) {
  call_for_ever();
  return unused;
}

struct Seen kill_callers(void) {
  struct Seen seen = {0};
  for (unsigned pause = 0; !g_over; pause = (pause + 37) % 500) {
    const pid_t child = start_caller();
    usleep(pause);
    kill(child, SIGKILL);
    int status = 0;
    if (waitpid(child, &status, 0) != child) give_up("waitpid");
    ++*(pause % 2 == 0 ? &seen.one : &seen.other);
  }
  return seen;
}

struct Seen execute_during_calls(void) {
  struct Seen seen = {0};
  for (unsigned pause = 0; !g_over; pause = (pause + 37) % 500) {
    const pid_t child = fork();
    if (child < 0) give_up("fork");
    if (child == 0) {
      pthread_t thread;
      for (int many = 0; many < 3; ++many) pthread_create(&thread, NULL, call_on_thread, NULL);
      usleep(pause);
      if (pause % 2 == 0) execl("/bin/true", "true", NULL);
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) give_up("waitpid");
    ++*(status != 0 ? &seen.neither : pause % 2 == 0 ? &seen.one : &seen.other);
  }
  return seen;
}

struct Seen stop_callers(void) {
  struct Seen seen = {0};
  const pid_t child = start_caller();
  while (!g_over) {
    struct utsname names;
    kill(child, SIGSTOP);
    ++*(uname(&names) == 0 ? &seen.one : &seen.neither); /* nobody waits for who has stopped */
    kill(child, SIGCONT);
    ++*(uname(&names) == 0 ? &seen.other : &seen.neither);
    usleep(100);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return seen;
}

static atomic_ulong g_signals;

static void take_signal(int signal) {
  (void)signal;
  ++g_signals;
}

struct Seen interrupt_calls(void) {
  struct Seen seen = {0};
  struct sigaction took = {.sa_handler = take_signal, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &took, NULL);
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  const struct itimerspec often = {.it_interval.tv_nsec = 70000, .it_value.tv_nsec = 70000};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) give_up("timer_create");
  timer_settime(timer, 0, &often, NULL);
  while (!g_over) {
    if (mknod("once", S_IFCHR | 0600, null_device()) == 0) {
      ++seen.one;
    } else {
      count_error(&seen, errno, (const int[]){0}); /* EEXIST: it has been made twice */
    }
    unlink("once");
  }
  timer_delete(timer);
  seen.other = g_signals;
  return seen;
}

static atomic_ulong g_right;
static atomic_ulong g_wrong;

static void* call_a_little(void* unused) {
  for (int many = 0; many < 20; ++many) {
    struct sysinfo info;
    struct utsname names;
    ++*(sysinfo(&info) == 0 && uname(&names) == 0 ? &g_right : &g_wrong);
  }
  return unused;
}

struct Seen call_from_many_threads(void) {
  enum { kMost = 20000 };
  static pthread_t threads[kMost];
  const char* const wanted = getenv("HOSTILE_THREADS");
  const unsigned long many = wanted != NULL ? strtoul(wanted, NULL, 10) : 2000;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 32768);
  unsigned long started = 0;
  while (started < many && started < kMost &&
         pthread_create(&threads[started], &small, call_a_little, NULL) == 0) {
    ++started;
  }
  for (unsigned long thread = 0; thread < started; ++thread) pthread_join(threads[thread], NULL);
  return (struct Seen){.one = g_right, .other = started, .neither = g_wrong};
}

static void* leave_on_thread(void* unused) {
  unshare(CLONE_FS | CLONE_FILES);
  unshare(CLONE_NEWNS);
  chroot("/tmp");
  if (mknod("/left", S_IFCHR | 0600, null_device()) == 0) unlink("/left");
  return unused;
}

struct Seen leave_namespaces(void) {
  struct Seen seen = {0};
  while (!g_over) {
    const pid_t child = fork();
    if (child < 0) give_up("fork");
    if (child == 0) {
      pthread_t thread;
      pthread_create(&thread, NULL, leave_on_thread, NULL);
      pthread_join(thread, NULL);
      /* Of a user namespace of its own its capabilities are worth nothing here. */
      while (unshare(CLONE_NEWUSER) != 0) {
        if (errno != EINVAL) _exit(2); /* the thread has ended, and is not yet gone */
      }
      _exit(mknod("gained", S_IFCHR | 0600, null_device()) == 0 ? 1 : 0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) give_up("waitpid");
    ++*(status == 0 ? &seen.one : &seen.neither);
    seen.other = seen.one;
  }
  return seen;
}
