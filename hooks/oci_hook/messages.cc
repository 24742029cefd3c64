#include "oci_hook/messages.h"

#include <fcntl.h>
#include <sys/stat.h>
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

}  // namespace

// A message that cannot be written is lost: there is nowhere left to say so.
void say(std::string_view line) {
  (void)write_fd(STDERR_FILENO, as_line(line));
}

void say_failure(std::string_view line) {
  say(line);
  if (!is_discarded(STDERR_FILENO)) return;
  const std::string parent = "/proc/" + std::to_string(::getppid());
  const auto name = read_file(parent + "/comm", 64);
  if (!name || (*name != "podman\n" && *name != "crun\n")) return;
  if (const auto fd = open_file(parent + "/fd/2", O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK)) {
    (void)write_fd(fd->get(), as_line(line));
  }
}

}  // namespace sidecall::oci_hook
