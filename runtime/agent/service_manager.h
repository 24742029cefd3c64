// Telling systemd where the agent stands: sd_notify(3), without its library.
#pragma once

#include <string_view>

#include "base/result.h"

namespace sidecall::agent {

// "READY=1", "STOPPING=1". Does nothing where NOTIFY_SOCKET is not set.
[[nodiscard]] Result<void> notify_service_manager(std::string_view state);

}  // namespace sidecall::agent
