/* Taking all that there is of something, with calls under way. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

/* A filesystem of our own whose server never answers: who looks into it waits for ever. */
static int mount_what_never_answers(void) {
  const int server = open("/fuse", O_RDWR | O_CLOEXEC);
  if (server < 0) give_up("/fuse");
  char options[96];
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u", server, getuid(),
           getgid());
  if (mkdir("silent", 0777) != 0 || mount("silent", "silent", "fuse", 0, options) != 0) {
    give_up("mounting a fuse filesystem");
  }
  return server;
}

static pid_t start_held_up(void) {
  const pid_t child = fork();
  if (child < 0) give_up("fork");
  if (child == 0) {
    mknod("silent/node", S_IFCHR | 0600, null_device());
    _exit(0);
  }
  return child;
}

struct Seen hold_actors_up(void) {
  enum { kMost = 200 };
  struct Seen seen = {0};
  pid_t held_up[kMost];
  const char* const wanted = getenv("HOSTILE_CALLERS");
  const int many = wanted != NULL ? atoi(wanted) : 24;
  const int server = mount_what_never_answers();
  for (int caller = 0; caller < many && caller < kMost; ++caller) {
    held_up[caller] = start_held_up();
    ++seen.other;
  }
  usleep(100000);
  while (!g_over) {
    if (mknod("node", S_IFCHR | 0600, null_device()) == 0) {
      ++seen.one;
      unlink("node");
    } else {
      count_error(&seen, errno, (const int[]){0});
    }
  }
  close(server); /* the last of it, once they are gone: whoever waits gets ENOTCONN */
  for (unsigned long caller = 0; caller < seen.other; ++caller) {
    kill(held_up[caller], SIGKILL);
    waitpid(held_up[caller], NULL, 0);
  }
  return seen;
}

/* Takes memory until it is killed for that. */
static pid_t start_eater(void) {
  const pid_t child = fork();
  if (child < 0) give_up("fork");
  if (child == 0) {
    enum { kPiece = 1 << 20 };
    for (;;) {
      char* const piece =
          mmap(NULL, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (piece != MAP_FAILED) memset(piece, 1, kPiece);
    }
  }
  return child;
}

struct Seen call_at_memory_limit(void) {
  struct Seen seen = {0};
  pid_t eater = start_eater();
  while (!g_over || seen.other == 0) {
    struct sysinfo info;
    if (sysinfo(&info) == 0 && mknod("node", S_IFCHR | 0600, null_device()) == 0) {
      ++seen.one;
      unlink("node");
    } else {
      count_error(&seen, errno, (const int[]){0});
    }
    if (waitpid(eater, NULL, WNOHANG) == eater) {
      ++seen.other;
      eater = start_eater();
    }
  }
  kill(eater, SIGKILL);
  waitpid(eater, NULL, 0);
  return seen;
}
