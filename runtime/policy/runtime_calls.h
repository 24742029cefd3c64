// The calls that may not be notified: the OCI runtime makes them itself before anybody can answer.
#pragma once

#include <string_view>

namespace sidecall::policy {

// Why a container in which `syscall` is notified would never start; "" where it would.
[[nodiscard]] std::string_view why_start_would_hang(std::string_view syscall);

}  // namespace sidecall::policy
