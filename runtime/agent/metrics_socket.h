// Metrics on a Unix socket, which the library's server has not.
#pragma once

#include <memory>
#include <string>

#include "agent/metrics_server.h"

namespace sidecall::agent {

// A socket of mode 0600. One peer is served at a time: read at most 8 KiB of its request, for at
// most a second a packet, answered, hung up on.
[[nodiscard]] Result<std::unique_ptr<MetricsServer>> start_metrics_socket(
    const std::string& path, std::shared_ptr<const Metrics> metrics);

}  // namespace sidecall::agent
