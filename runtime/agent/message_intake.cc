#include "agent/message_intake.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/pass_fd.h"

namespace sidecall::agent {
namespace {

constexpr std::size_t kPiece = 64U << 10;  // what one peer may be given to do between two others

}  // namespace

MessageIntake::MessageIntake(EventLoop& loop, const Log& log, std::string role,
                             const IntakeLimits& limits, IsWhole is_whole,
                             std::function<void(Message)> deliver, Shelter* shelter)
    : loop_(loop),
      log_(log),
      role_(std::move(role)),
      limits_(limits),
      is_whole_(std::move(is_whole)),
      deliver_(std::move(deliver)),
      shelter_(shelter) {}

Result<std::unique_ptr<MessageIntake>> MessageIntake::start(
    EventLoop& loop, const Log& log, ListeningSocket socket, std::string role,
    const IntakeLimits& limits, IsWhole is_whole, std::function<void(Message)> deliver,
    Shelter* shelter) {
  std::unique_ptr<MessageIntake> intake(
      new MessageIntake(loop, log, role, limits, std::move(is_whole), std::move(deliver), shelter));
  auto acceptor = Acceptor::start(loop, log, std::move(socket), std::move(role),
                                  [raw = intake.get()](Peer peer) { raw->begin(std::move(peer)); });
  if (!acceptor) return pass_on(std::move(acceptor));
  intake->acceptor_ = std::move(*acceptor);
  return intake;
}

void MessageIntake::begin(Peer peer) {
  const std::uint64_t number = next_number_++;
  const int socket = peer.socket.get();
  Connection& connection = connections_[number];
  connection.message.peer = std::move(peer);
  if (shelter_ != nullptr) shelter_->take_in(number, socket);
  if (connections_.size() >= limits_.connections) acceptor_->pause();
  auto watch = loop_.watch(socket, [this, number] { read_some(number); });
  if (!watch) return drop(number, watch.error().message);
  connection.watch = std::move(*watch);
}

void MessageIntake::take_over(std::vector<std::pair<std::uint64_t, UniqueFd>> connections) {
  // New numbers beyond all the old ones, which are free only afterwards.
  for (const auto& [number, socket] : connections) {
    next_number_ = std::max(next_number_, number + 1);
  }
  for (auto& each : connections) {
    Peer peer;
    peer.socket = std::move(each.second);
    begin(std::move(peer));
  }
  if (shelter_ == nullptr) return;
  for (const auto& [number, socket] : connections) shelter_->let_go(number);
}

void MessageIntake::shelter_all() const {
  if (shelter_ == nullptr) return;
  for (const auto& [number, connection] : connections_) {
    shelter_->take_in(number, connection.message.peer.socket.get());
  }
}

bool MessageIntake::peek(Message& message) const {
  auto peeked = peek_with_fds(message.peer.socket.get(), kPiece);
  if (!peeked || peeked->fds_cut || peeked->fds.size() > limits_.descriptors ||
      !is_whole_(peeked->bytes)) {
    return false;
  }
  message.bytes = std::move(peeked->bytes);
  message.descriptors = std::move(peeked->fds);
  return true;
}

void MessageIntake::read_some(std::uint64_t number) {
  Connection& connection = connections_.at(number);
  Message& message = connection.message;
  if (shelter_ != nullptr && message.bytes.empty() && peek(message)) return finish(number);
  const bool is_first = message.bytes.empty();
  auto received = try_receive_with_fds(message.peer.socket.get(), kPiece);
  if (!received) {
    if (received.error().value == EAGAIN || received.error().value == EINTR) return;
    return drop(number, errno_name(received.error().value));
  }
  message.bytes += received->bytes;
  std::move(received->fds.begin(), received->fds.end(), std::back_inserter(message.descriptors));
  if (received->fds_cut) {
    return drop(number, "not all of its descriptors fit (MSG_CTRUNC): too many, or ours ran out");
  }
  if (message.descriptors.size() > limits_.descriptors) {
    return drop(number, std::to_string(message.descriptors.size()) +
                            " descriptors, where at most " + std::to_string(limits_.descriptors) +
                            " may come");
  }
  if (message.bytes.size() > limits_.bytes) {
    return drop(number, "more than " + std::to_string(limits_.bytes) + " bytes");
  }
  if (received->bytes.empty() || is_whole_(message.bytes)) return finish(number);
  if (!is_first) return;
  connection.deadline =
      loop_.after(limits_.patience, [this, number] { drop(number, "it did not end in time"); });
}

void MessageIntake::finish(std::uint64_t number) {
  Message message = take(number);
  if (message.bytes.empty() && message.descriptors.empty()) {
    log_.debug("a connection without a message", {{"socket", role_}});
    if (shelter_ != nullptr) shelter_->let_go(number);
    return;
  }
  deliver_(std::move(message));
  if (shelter_ != nullptr) shelter_->let_go(number);
}

void MessageIntake::drop(std::uint64_t number, const std::string& cause) {
  const Message message = take(number);
  if (shelter_ != nullptr) shelter_->let_go(number);
  log_.warn("message dropped", {{"socket", role_},
                                {"peer_pid", std::to_string(message.peer.credentials.pid)},
                                {"cause", cause}});
}

Message MessageIntake::take(std::uint64_t number) {
  auto node = connections_.extract(number);
  if (connections_.size() + 1 == limits_.connections) acceptor_->resume();
  return std::move(node.mapped().message);
}

}  // namespace sidecall::agent
