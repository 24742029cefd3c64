#include "oci_hook/messages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

#include "base/file.h"

namespace sidecall::oci_hook {
namespace {

std::string as_line(std::string_view line) {
  return std::string("sidecall-hook: ").append(line).append("\n");
}

bool is_discarded(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

// The very open file of our parent, so that in a regular file our line and its own do not overwrite
// each other; where we may not take that (it needs the right to trace: pidfd_getfd(2)), another on
// the same file.
UniqueFd standard_error_of(pid_t pid, const std::string& directory) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), STDERR_FILENO, 0)));
  if (fd) return fd;
  return open_file(directory + "/fd/2", O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK)
      .value_or(UniqueFd());
}

}  // namespace

// A message that cannot be written is lost: there is nowhere left to say so.
void say(std::string_view line) {
  (void)write_fd(STDERR_FILENO, as_line(line));
}

void say_failure(std::string_view line) {
  say(line);
  if (!is_discarded(STDERR_FILENO)) return;
  const pid_t parent = ::getppid();
  const std::string directory = "/proc/" + std::to_string(parent);
  const auto name = read_file(directory + "/comm", 64);
  if (!name || (*name != "podman\n" && *name != "crun\n")) return;
  (void)write_fd(standard_error_of(parent, directory).get(), as_line(line));
}

}  // namespace sidecall::oci_hook
