#include "cli/bench_floor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>

static int hung_up(int listener) {
  struct pollfd look = {.fd = listener, .events = 0};
  return poll(&look, 1, 0) == 1 && (look.revents & POLLHUP) != 0;
}

static void spin(unsigned long iterations) {
  for (unsigned long done = 0; done < iterations; ++done) __asm__ volatile("" ::: "memory");
}

/* The number of the descriptor in the caller, or -1. */
static int add(int listener, unsigned long long id, int source, unsigned flags) {
  struct seccomp_notif_addfd request = {
      .id = id, .flags = flags, .srcfd = (unsigned)source, .newfd_flags = O_CLOEXEC};
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &request);
}

int floor_serve(int listener, const struct FloorJob* job) {
  struct Got {
    struct seccomp_notif notification;
    char room[64]; /* for a kernel whose structure is larger */
  } got;
  struct {
    struct seccomp_notif_resp response;
    char room[64];
  } answer = {0};
  for (;;) {
    got = (struct Got){0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &got) != 0) {
      if (errno == EINTR) continue;
      if (errno == ENOENT && !hung_up(listener)) continue;
      return errno == ENOENT ? 0 : errno;
    }
    if (job->spins != 0) spin(job->spins);
    answer.response.id = got.notification.id;
    answer.response.val = job->value;
    if (job->reply == kFloorAddfd) {
      add(listener, got.notification.id, job->source, SECCOMP_ADDFD_FLAG_SEND);
      continue;
    }
    if (job->reply == kFloorAddfdAndSend) {
      answer.response.val = add(listener, got.notification.id, job->source, 0);
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

unsigned long floor_spins_per_microsecond(void) {
  const unsigned long iterations = 10000000;
  spin(iterations); /* up to speed */
  const double begun = microseconds();
  spin(iterations);
  return (unsigned long)((double)iterations / (microseconds() - begun));
}
