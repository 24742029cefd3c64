#include "agent/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>

#include "base/file.h"
#include "base/paths.h"

namespace sidecall::agent {
namespace {

constexpr mode_t kOwnerOnly = 0700;
constexpr mode_t kOthers = 0077;

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kOwnerOnly) != 0 && errno != EEXIST) {
    return errno_failure("creating it");
  }
  auto directory = open_file(path, O_PATH | O_NOFOLLOW);
  if (!directory) return pass_on(std::move(directory));
  struct stat status {};
  if (::fstat(directory->get(), &status) != 0) return errno_failure("looking at it");
  if (!S_ISDIR(status.st_mode)) return failure("not a directory; remove it or choose another");
  if (status.st_uid != ::geteuid()) {
    return failure("belongs to user " + std::to_string(status.st_uid) + ", not to " +
                   std::to_string(::geteuid()) + "; chown it or choose another");
  }
  if ((status.st_mode & kOthers) != 0) {
    return failure("others can enter it; close it with: chmod 0700 " + path);
  }
  return {};
}

// The pid that the lock's holder wrote, or "?" where it has not got that far.
std::string holder(int lock) {
  auto text = read_fd(lock, 32);
  std::string digits;
  for (const char c : text.value_or("")) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  }
  return digits.empty() ? "?" : digits;
}

Result<UniqueFd> lock_directory(const std::string& path) {
  auto lock = open_file(in_directory(path, "agent.lock"), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock) return lock;
  if (::flock(lock->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_failure("locking agent.lock");
    return failure("another sidecalld runs in it, pid " + holder(lock->get()) +
                   "; stop that one or choose another --run-dir");
  }
  if (::ftruncate(lock->get(), 0) != 0) return errno_failure("writing agent.lock");
  if (auto written = write_fd(lock->get(), std::to_string(::getpid()) + "\n"); !written) {
    return pass_on(std::move(written), "agent.lock");
  }
  return lock;
}

}  // namespace

Result<RunDirectory> RunDirectory::open(const std::string& path) {
  const std::string where = "run directory " + path;
  if (auto made = make_directory(path); !made) return pass_on(std::move(made), where);
  auto lock = lock_directory(path);
  if (!lock) return pass_on(std::move(lock), where);
  return RunDirectory(path, std::move(*lock));
}

Result<ListeningSocket> RunDirectory::bind(std::string_view name, UniqueFd old) const {
  const std::string path = in_directory(path_, name);
  if (old && leads_to(path, old.get())) return ListeningSocket(std::move(old), path);
  return ListeningSocket::bind(path);
}

}  // namespace sidecall::agent
