/* Memory that goes away while a call that was given it waits for its answer. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "hostile.h"

static char* g_page;

static char* map_page(void) {
  char* const page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) give_up("mmap");
  return page;
}

static void flip_page(void) {
  mprotect(g_page, 4096, PROT_NONE);
  mprotect(g_page, 4096, PROT_READ);
  mprotect(g_page, 4096, PROT_READ | PROT_WRITE);
}

struct Seen flip_protection(void) {
  struct Seen seen = {0};
  g_page = map_page();
  start_flipping(flip_page);
  while (!g_over) {
    if (sysinfo((struct sysinfo*)(void*)g_page) == 0) {
      ++seen.one;
    } else {
      count_error(&seen, errno, (const int[]){EFAULT, 0});
    }
  }
  return seen;
}

static void flip_end(void) {
  mprotect(g_page + 4096, 4096, PROT_NONE);
  mprotect(g_page + 4096, 4096, PROT_READ | PROT_WRITE);
}

struct Seen move_string_to_page_end(void) {
  struct Seen seen = {0};
  g_page = map_page();
  memset(g_page, '/', 4096);
  memcpy(g_page + 4096, "nowhere/node", 13);
  start_flipping(flip_end);
  while (!g_over) {
    const int made = mknod(g_page + 4000, S_IFCHR | 0600, null_device());
    if (made == 0) give_up("a node was made nowhere");
    if (errno == ENOENT) {
      ++seen.one;
    } else {
      count_error(&seen, errno, (const int[]){EFAULT, 0});
    }
  }
  return seen;
}
