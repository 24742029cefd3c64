#include "oci_hook/agent_link.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "base/paths.h"
#include "base/unique_fd.h"

namespace sidecall::oci_hook {
namespace {

constexpr std::size_t kLongestAnswer = 4096;
constexpr std::chrono::milliseconds kPause{20};  // between two looks for an agent

using Kind = LinkFailure::Kind;

tl::unexpected<LinkFailure> fail(Kind kind, std::string message) {
  return tl::unexpected<LinkFailure>(LinkFailure{kind, Error{std::move(message)}});
}

// SO_SNDTIMEO also bounds connect(2) to a socket whose backlog is full: unix(7), socket(7).
bool set_timeouts(int socket, std::chrono::milliseconds timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timeval value{.tv_sec = seconds.count(),
                      .tv_usec = std::chrono::microseconds(timeout - seconds).count()};
  return setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof(value)) == 0 &&
         setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof(value)) == 0;
}

// EPIPE is no failure: an agent that refuses early closes before it has read everything, and its
// reason is still there to be received.
bool send_all(int socket, std::string_view data) {
  while (!data.empty()) {
    const ssize_t count = ::send(socket, data.data(), data.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EPIPE;
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

// Until end of file; what is past the longest answer is left unread.
bool receive_all(int socket, std::string& answer) {
  std::array<char, kLongestAnswer> chunk;
  while (answer.size() < kLongestAnswer) {
    const ssize_t count = ::recv(socket, chunk.data(), kLongestAnswer - answer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == ECONNRESET;
    if (count == 0) return true;
    answer.append(chunk.data(), static_cast<std::size_t>(count));
  }
  return true;
}

std::string waited(std::chrono::milliseconds time) {
  return " (waited " + std::to_string(time.count()) + " ms)";
}

// One printable line, whatever came.
std::string first_line(std::string_view answer) {
  std::string line(answer.substr(0, answer.find('\n')));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return line;
}

}  // namespace

// An agent that is restarted is away for a moment, and asked again it gives the same answer: it has
// forgotten what it had not answered.
tl::expected<void, LinkFailure> AgentLink::ask(std::string_view request,
                                               std::chrono::milliseconds absence) const {
  const auto deadline = std::chrono::steady_clock::now() + absence;
  for (;;) {
    auto outcome = ask_once(request);
    if (outcome) return outcome;
    LinkFailure& failure = outcome.error();
    if (failure.kind != Kind::kAbsent && failure.kind != Kind::kBroken) return outcome;
    if (std::chrono::steady_clock::now() >= deadline) {
      if (absence.count() > 0) failure.error.message += waited(absence);
      return outcome;
    }
    std::this_thread::sleep_for(kPause);
  }
}

tl::expected<void, LinkFailure> AgentLink::ask_once(std::string_view request) const {
  const std::string path = in_directory(run_directory_, kHookSocket);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return fail(Kind::kTrouble, path + ": longer than the 107 bytes that a socket's path can have");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);

  const auto trouble = [&](int number) {
    const char* what = number == EAGAIN ? "no answer in time" : strerrordesc_np(number);
    return fail(Kind::kTrouble, "asking sidecalld on " + path + ": " + what +
                                    "; see its log, or `sidecall doctor`");
  };
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || !set_timeouts(socket.get(), patience_.answer)) return trouble(errno);
  // sockets(7): every address family's structure is passed as a sockaddr.
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int number = errno;
    if (number != ENOENT && number != ECONNREFUSED) return trouble(number);
    return fail(Kind::kAbsent, "sidecalld is not running: " + path + ": " +
                                   strerrordesc_np(number) +
                                   "; start it with `systemctl start sidecalld` or `sidecalld "
                                   "--run-dir " +
                                   run_directory_ + "`");
  }
  std::string answer;
  if (!send_all(socket.get(), request)) return trouble(errno);
  ::shutdown(socket.get(), SHUT_WR);
  if (!receive_all(socket.get(), answer)) return trouble(errno);
  if (answer == "ok\n") return {};
  if (answer.empty()) {
    return fail(Kind::kBroken,
                "sidecalld hung up on " + path + " before it had answered; see its log");
  }
  return fail(Kind::kRefused, first_line(answer));
}

}  // namespace sidecall::oci_hook
