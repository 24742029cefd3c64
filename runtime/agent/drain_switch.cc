#include "agent/drain_switch.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/file.h"

namespace sidecall::agent {

DrainSwitch::DrainSwitch(std::string mark)
    : mark_(std::move(mark)), on_(::access(mark_.c_str(), F_OK) == 0) {}

Result<void> DrainSwitch::set(bool on) {
  const std::lock_guard lock(mutex_);
  if (on) {
    auto file = open_file(mark_, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
    if (!file) return pass_on(std::move(file));
  } else if (::unlink(mark_.c_str()) != 0 && errno != ENOENT) {
    return errno_failure("removing " + mark_);
  }
  on_ = on;
  return {};
}

}  // namespace sidecall::agent
