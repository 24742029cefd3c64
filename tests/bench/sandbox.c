/* The least that is a sandbox: a process in a user namespace of its own, whose uname is notified,
   and which sends its listener to an agent as an OCI runtime would.

   Usage: sandbox SOCKET ID POLICY
   Says "ready" on standard output, then calls uname and prints the release for every byte that
   standard input gives, until that ends. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

static void must(int good, const char* what) {
  if (good) return;
  perror(what);
  exit(1);
}

static void write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
  close(fd);
}

static void enter_user_namespace(void) {
  must(unshare(CLONE_NEWUSER) == 0, "unshare");
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", "0 0 1");
  write_file("/proc/self/gid_map", "0 0 1");
}

static int install_filter(void) {
  struct sock_filter code[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_uname},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                      &program);
}

static void send_listener(const char* path, const char* id, const char* policy, int listener) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  must(strlen(path) < sizeof address.sun_path, "path");
  strcpy(address.sun_path, path);
  const int agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  must(connect(agent, (struct sockaddr*)&address, sizeof address) == 0, path);

  char state[1024];
  const int length = snprintf(
      state, sizeof state,
      "{\"ociVersion\":\"1.0.2\",\"fds\":[\"seccompFd\"],\"pid\":%d,\"state\":{\"ociVersion\":"
      "\"1.0.2\",\"id\":\"%s\",\"status\":\"creating\",\"pid\":%d,\"bundle\":\"/nowhere\","
      "\"annotations\":{\"dev.sidecall.policy\":\"%s\"}}}",
      getpid(), id, getpid(), policy);
  must(length > 0 && (size_t)length < sizeof state, "state");

  char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
  struct iovec text = {.iov_base = state, .iov_len = (size_t)length};
  struct msghdr message = {
      .msg_iov = &text, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(rights), &listener, sizeof listener);
  must(sendmsg(agent, &message, 0) == length, "sendmsg");
  close(agent);
  close(listener);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  enter_user_namespace();
  const int listener = install_filter();
  must(listener >= 0, "seccomp");
  send_listener(argv[1], argv[2], argv[3], listener);
  puts("ready");
  fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) == 1) {
    struct utsname names;
    must(uname(&names) == 0, "uname");
    puts(names.release);
    fflush(stdout);
  }
  return 0;
}
