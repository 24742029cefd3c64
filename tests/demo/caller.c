// Times one system call as its caller sees it: caller CALL COUNT prints "P50 P99" in nanoseconds.
// Static, so that it runs in any container.
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

static const char kNode[] = "/tmp/timed";

static int call_uname(void) {
  struct utsname name;
  return uname(&name);
}

static int call_sysinfo(void) {
  struct sysinfo info;
  return sysinfo(&info);
}

static int call_mknod(void) {
  return mknod(kNode, S_IFCHR | 0600, makedev(1, 3));
}

static void nothing(void) {}
static void remove_node(void) {
  unlink(kNode);
}

static const struct {
  const char* name;
  int (*call)(void);
  void (*undo)(void);  // not timed
} kCalls[] = {
    {"uname", call_uname, nothing},
    {"sysinfo", call_sysinfo, nothing},
    {"mknod", call_mknod, remove_node},
};
enum { kCallCount = sizeof kCalls / sizeof kCalls[0] };

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  const int64_t left = *(const int64_t*)a;
  const int64_t right = *(const int64_t*)b;
  return (left > right) - (left < right);
}

int main(int argc, char** argv) {
  const char* const name = argc == 3 ? argv[1] : "";
  const long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
  size_t which = 0;
  while (which < kCallCount && strcmp(name, kCalls[which].name) != 0) ++which;
  if (count < 1 || count > 10000000 || which == kCallCount) {
    fprintf(stderr, "usage: caller uname|sysinfo|mknod COUNT\n");
    return 2;
  }
  int64_t* const times = calloc((size_t)count, sizeof *times);
  if (times == NULL) return 1;
  for (long i = -count / 10; i < count; ++i) {  // the first tenth warms up and is not kept
    const int64_t before = now();
    const int result = kCalls[which].call();
    const int64_t after = now();
    if (result != 0) {
      perror(name);
      return 1;
    }
    kCalls[which].undo();
    if (i >= 0) times[i] = after - before;
  }
  qsort(times, (size_t)count, sizeof *times, by_value);
  printf("%lld %lld\n", (long long)times[count / 2], (long long)times[count * 99 / 100]);
  free(times);
  return 0;
}
