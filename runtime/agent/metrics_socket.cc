#include "agent/metrics_socket.h"

#include <poll.h>
#include <prometheus/text_serializer.h>
#include <sys/eventfd.h>

#include <array>
#include <sstream>
#include <thread>
#include <utility>

#include "agent/socket.h"

namespace sidecall::agent {
namespace {

constexpr std::size_t kMostRequestBytes = 8U << 10U;
constexpr int kPatienceMs = 1000;

bool becomes(short event, int fd) {
  pollfd look{fd, event, 0};
  return ::poll(&look, 1, kPatienceMs) == 1;
}

// Up to the empty line that ends a request's header; "" where that does not come.
std::string read_request(int socket) {
  std::string request;
  std::array<char, 1024> part{};
  while (request.size() < kMostRequestBytes && becomes(POLLIN, socket)) {
    const ssize_t count = ::recv(socket, part.data(), part.size(), 0);
    if (count <= 0) break;
    request.append(part.data(), static_cast<std::size_t>(count));
    if (request.find("\r\n\r\n") != std::string::npos) return request;
  }
  return {};
}

void send_all(int socket, std::string_view text) {
  while (!text.empty() && becomes(POLLOUT, socket)) {
    const ssize_t count = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string response(std::string_view status, const std::string& body) {
  return "HTTP/1.1 " + std::string(status) +
         "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

class UnixServer final : public MetricsServer {
 public:
  UnixServer(ListeningSocket socket, UniqueFd stop, std::shared_ptr<const Metrics> metrics)
      : socket_(std::move(socket)),
        stop_(std::move(stop)),
        metrics_(std::move(metrics)),
        thread_([this] { serve(); }) {}
  ~UnixServer() override { ::eventfd_write(stop_.get(), 1); }

 private:
  void serve() const {
    std::array<pollfd, 2> waiting{pollfd{socket_.fd(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    for (;;) {
      if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
      if (waiting[1].revents != 0) return;
      const auto peer = accept_peer(socket_.fd());
      if (peer && is_trusted(peer->credentials)) answer(peer->socket.get());
      // Out of descriptors: not in a circle at full speed.
      if (!peer && peer.error().value != EAGAIN) ::poll(&waiting[1], 1, kPatienceMs);
    }
  }

  void answer(int socket) const {
    const std::string request = read_request(socket);
    if (request.empty()) return;
    if (!request.starts_with("GET /metrics ")) {
      return send_all(socket, response("404 Not Found", "only GET /metrics is here\n"));
    }
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, metrics_->Collect());
    send_all(socket, response("200 OK", text.str()));
  }

  ListeningSocket socket_;
  UniqueFd stop_;
  std::shared_ptr<const Metrics> metrics_;
  std::jthread thread_;  // last: it uses all the others
};

}  // namespace

Result<std::unique_ptr<MetricsServer>> start_metrics_socket(
    const std::string& path, std::shared_ptr<const Metrics> metrics) {
  auto socket = ListeningSocket::bind(path);
  if (!socket) return pass_on(std::move(socket), "metrics");
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop) return errno_failure("metrics: making an eventfd");
  return std::make_unique<UnixServer>(std::move(*socket), std::move(stop), std::move(metrics));
}

}  // namespace sidecall::agent
