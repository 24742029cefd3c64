/* Names and descriptors that change while a call that has them waits for its answer. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "hostile.h"

/* Outside of the container's root, if anybody resolved it with another root. */
static const char kOutside[] = "/../../../../../../../../tmp/sidecall-canary/node";
static const char kInside[] = "inside/node";
static char g_path[64];
static char g_name[32];
static int g_descriptor;

static void flip_path(void) {
  memcpy(g_path, kOutside, sizeof kOutside);
  stay_so();
  memcpy(g_path, kInside, sizeof kInside);
  stay_so();
}

struct Seen rewrite_path(void) {
  struct Seen seen = {0};
  if (mkdir("inside", 0777) != 0) give_up("inside");
  memcpy(g_path, kInside, sizeof kInside);
  start_flipping(flip_path);
  while (!g_over) {
    if (mknod(g_path, S_IFCHR | 0600, null_device()) != 0) {
      count_error(&seen, errno, (const int[]){ENOENT, EACCES, 0});
    } else if (unlink(kInside) == 0) {
      ++seen.one;
    } else {
      ++seen.other;
    }
  }
  return seen;
}

static void flip_link(void) {
  syscall(SYS_renameat2, AT_FDCWD, "place", AT_FDCWD, "link", RENAME_EXCHANGE);
}

struct Seen swap_link(void) {
  struct Seen seen = {0};
  if (mkdir("place", 0777) != 0 || mkdir("elsewhere", 0777) != 0) give_up("directories");
  if (symlink("/proc/self/root/../../../../tmp/sidecall-canary", "link") != 0) give_up("link");
  start_flipping(flip_link);
  while (!g_over) {
    if (mknod("place/node", S_IFCHR | 0600, null_device()) == 0) {
      ++seen.one;
    } else {
      count_error(&seen, errno, (const int[]){ENOENT, ENOTDIR, EACCES, EEXIST, 0});
    }
    unlink("place/node");
    unlink("link/node");
  }
  return seen;
}

static void flip_descriptor(void) {
  const int here = open("here", O_PATH | O_DIRECTORY);
  dup2(here, g_descriptor);
  close(g_descriptor);
  const int file = open("/proc/self/status", O_RDONLY);
  dup2(file, g_descriptor);
  close(file);
  close(here);
}

struct Seen swap_descriptor(void) {
  struct Seen seen = {0};
  if (mkdir("here", 0777) != 0) give_up("here");
  g_descriptor = 100;
  start_flipping(flip_descriptor);
  while (!g_over) {
    if (mknodat(g_descriptor, "node", S_IFCHR | 0600, null_device()) == 0) {
      ++seen.one;
      unlink("here/node");
    } else {
      count_error(&seen, errno, (const int[]){EBADF, ENOTDIR, 0});
    }
  }
  return seen;
}

static void flip_name(void) {
  memcpy(g_name, "trusted.overlay.x", 18);
  stay_so();
  memcpy(g_name, "trusted.hostile.x", 18);
  stay_so();
}

struct Seen rewrite_attribute_name(void) {
  struct Seen seen = {0};
  const int file = open("file", O_CREAT | O_RDWR, 0600);
  if (file < 0) give_up("file");
  memcpy(g_name, "trusted.overlay.x", 18);
  start_flipping(flip_name);
  while (!g_over) {
    ++*(fsetxattr(file, g_name, "y", 1, 0) == 0 ? &seen.one : &seen.other);
  }
  return seen;
}
