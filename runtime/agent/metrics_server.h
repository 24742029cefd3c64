// Where Prometheus scrapes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "agent/metrics.h"
#include "base/result.h"

namespace sidecall::agent {

// "unix:PATH", or a TCP address in the form that civetweb takes: "HOST:PORT".
struct MetricsAddress {
  bool is_path = false;
  std::string text;  // the path, or the address
};
// Of a port alone, or ":PORT", the loopback's: who wants others to read says so. HOST is a numeric
// address; one of IPv6 stands in brackets.
[[nodiscard]] Result<MetricsAddress> parse_metrics_address(std::string_view text);

// Answers GET /metrics on threads of its own for as long as it lives.
class MetricsServer {
 public:
  MetricsServer() = default;
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  virtual ~MetricsServer() = default;

  [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> start(
      const MetricsAddress& address, std::shared_ptr<const Metrics> metrics);
};

}  // namespace sidecall::agent
