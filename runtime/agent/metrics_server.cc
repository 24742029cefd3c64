#include "agent/metrics_server.h"

#include <arpa/inet.h>
#include <prometheus/exposer.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>
#include <vector>

#include "agent/metrics_socket.h"

namespace sidecall::agent {
namespace {

constexpr std::string_view kUnix = "unix:";

// Over TCP the library's own server, which knows HTTP.
class TcpServer final : public MetricsServer {
 public:
  TcpServer(const std::string& address, const std::shared_ptr<const Metrics>& metrics)
      : metrics_(std::const_pointer_cast<Metrics>(metrics)),
        exposer_(std::vector<std::string>{"listening_ports", address, "num_threads", "2",
                                          "request_timeout_ms", "5000"}) {
    exposer_.RegisterCollectable(metrics_);
  }

 private:
  std::shared_ptr<prometheus::Collectable> metrics_;
  prometheus::Exposer exposer_;
};

bool is_port(std::string_view text) {
  unsigned short port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

bool is_host(std::string_view text) {
  in6_addr address{};
  const bool bracketed = text.starts_with('[') && text.ends_with(']');
  const std::string bare(bracketed ? text.substr(1, text.size() - 2) : text);
  return ::inet_pton(bracketed ? AF_INET6 : AF_INET, bare.c_str(), &address) == 1;
}

}  // namespace

Result<MetricsAddress> parse_metrics_address(std::string_view text) {
  if (text.starts_with(kUnix)) {
    const std::string path(text.substr(kUnix.size()));
    if (!path.starts_with('/')) return failure("unix: wants an absolute path");
    return MetricsAddress{.is_path = true, .text = path};
  }
  const std::size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  std::string_view host = colon == std::string_view::npos ? "" : text.substr(0, colon);
  if (host.empty()) host = "127.0.0.1";
  if (host == "localhost") host = "127.0.0.1";
  if (!is_port(port) || !is_host(host)) {
    return failure("\"" + std::string(text) +
                   "\" is no address; write PORT, 127.0.0.1:PORT, [::1]:PORT or unix:/PATH");
  }
  return MetricsAddress{.is_path = false, .text = std::string(host) + ":" + std::string(port)};
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(
    const MetricsAddress& address, std::shared_ptr<const Metrics> metrics) {
  if (address.is_path) return start_metrics_socket(address.text, std::move(metrics));
  // civetweb says why only to a log of its own.
  try {
    return std::make_unique<TcpServer>(address.text, metrics);
  } catch (const std::exception& error) {
    return failure("metrics: cannot listen on " + address.text + " (" + error.what() +
                   "); choose a free port of this host with --metrics");
  }
}

}  // namespace sidecall::agent
