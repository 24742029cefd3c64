// Calls that sidecall serves, from several threads, for as long as standard input is open. Every
// answer is checked; the outcome is one line of JSON on standard output.
//
// Usage: soak_caller THREADS RELEASE MEMORY-BYTES DIRECTORY
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { kMostThreads = 64, kFirstWrongs = 200, kSamples = 1 << 14 };

static const char* release;
static uint64_t memory;
static const char* directory;
static atomic_bool done;

struct thread {
  pthread_t id;
  int number;
  uint64_t calls;
  uint64_t wrong;
  uint64_t not_implemented;  // ENOSYS: the listener was gone
  uint64_t unknown;          // EINTR: a node that may or may not have been made
  uint64_t longest_ns;
  uint64_t took_ns[kSamples];  // of the last calls, in any order
  char first_wrong[kFirstWrongs];
};

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void check(struct thread* self, int right, const char* what, int number) {
  if (right) return;
  if (number == ENOSYS) ++self->not_implemented;
  if (self->wrong++ == 0) {
    snprintf(self->first_wrong, sizeof self->first_wrong, "%s: %s", what,
             number != 0 ? strerror(number) : "wrong value");
  }
}

static void clocked(struct thread* self, uint64_t started) {
  const uint64_t took = now_ns() - started;
  if (took > self->longest_ns) self->longest_ns = took;
  self->took_ns[self->calls++ % kSamples] = took;
}

static void ask_release(struct thread* self) {
  struct utsname name;
  memset(&name, 0, sizeof name);
  const uint64_t started = now_ns();
  const int result = uname(&name);
  clocked(self, started);
  check(self, result == 0 && strcmp(name.release, release) == 0, "uname", result == 0 ? 0 : errno);
}

static void ask_memory(struct thread* self) {
  struct sysinfo info;
  memset(&info, 0, sizeof info);
  const uint64_t started = now_ns();
  const int result = sysinfo(&info);
  clocked(self, started);
  check(self, result == 0 && (uint64_t)info.totalram * info.mem_unit == memory, "sysinfo",
        result == 0 ? 0 : errno);
}

// The name is new each time: a node that is there before its call returns was made by that call,
// and a second making of it would be EEXIST.
static void make_node(struct thread* self) {
  char path[256];
  snprintf(path, sizeof path, "%s/%d", directory, self->number);
  const uint64_t started = now_ns();
  const int result = mknod(path, S_IFCHR | 0600, makedev(1, 3));
  const int number = errno;
  clocked(self, started);
  struct stat status;
  const int is_there = lstat(path, &status) == 0;
  if (result != 0 && number == EINTR) {
    ++self->unknown;
  } else {
    check(self,
          result == 0 && is_there && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3),
          "mknod", result == 0 ? 0 : number);
  }
  if (is_there && unlink(path) != 0) check(self, 0, "unlink", errno);
}

static void be_refused(struct thread* self) {
  char path[256];
  snprintf(path, sizeof path, "%s/%d.disk", directory, self->number);
  const uint64_t started = now_ns();
  const int result = mknod(path, S_IFBLK | 0600, makedev(8, 0));
  const int number = errno;
  clocked(self, started);
  if (result != 0 && number == EINTR) {
    ++self->unknown;
  } else {
    check(self, result != 0 && number == EPERM, "mknod of a disk", result == 0 ? 0 : number);
  }
}

static void* run(void* argument) {
  struct thread* self = argument;
  for (unsigned round = 0; !done; ++round) {
    ask_release(self);
    ask_memory(self);
    if (round % 8 == 0) make_node(self);
    if (round % 64 == 0) be_refused(self);
  }
  return NULL;
}

static int compare(const void* left, const void* right) {
  const uint64_t a = *(const uint64_t*)left;
  const uint64_t b = *(const uint64_t*)right;
  return a < b ? -1 : a > b;
}

// What 99 of 100 of a thread's last calls took at the most.
static uint64_t percentile_99(struct thread* self) {
  const size_t count = self->calls < kSamples ? self->calls : kSamples;
  if (count == 0) return 0;
  qsort(self->took_ns, count, sizeof self->took_ns[0], compare);
  return self->took_ns[count * 99 / 100];
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int threads = atoi(argv[1]);
  release = argv[2];
  memory = strtoull(argv[3], NULL, 10);
  directory = argv[4];
  if (threads < 1 || threads > kMostThreads) return 2;
  static struct thread all[kMostThreads];
  for (int i = 0; i < threads; ++i) {
    all[i].number = i;
    if (pthread_create(&all[i].id, NULL, run, &all[i]) != 0) return 2;
  }
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  done = 1;
  static struct thread sum;
  uint64_t worst_p99_ns = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(all[i].id, NULL);
    sum.calls += all[i].calls;
    sum.wrong += all[i].wrong;
    sum.not_implemented += all[i].not_implemented;
    sum.unknown += all[i].unknown;
    if (all[i].longest_ns > sum.longest_ns) sum.longest_ns = all[i].longest_ns;
    const uint64_t p99_ns = percentile_99(&all[i]);
    if (p99_ns > worst_p99_ns) worst_p99_ns = p99_ns;
    if (all[i].wrong != 0) memcpy(sum.first_wrong, all[i].first_wrong, sizeof sum.first_wrong);
  }
  printf(
      "{\"calls\": %llu, \"wrong\": %llu, \"enosys\": %llu, \"eintr\": %llu, "
      "\"longest_ms\": %.3f, \"p99_us\": %.1f, \"first_wrong\": \"%s\"}\n",
      (unsigned long long)sum.calls, (unsigned long long)sum.wrong,
      (unsigned long long)sum.not_implemented, (unsigned long long)sum.unknown,
      (double)sum.longest_ns / 1e6, (double)worst_p99_ns / 1e3, sum.first_wrong);
  return sum.wrong == 0 ? 0 : 1;
}
