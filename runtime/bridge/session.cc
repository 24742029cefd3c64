#include "bridge/session.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "base/pass_fd.h"
#include "bridge/translate.h"

namespace sidecall::bridge {
namespace {

namespace remote = emulators::remote;

constexpr int kMostMessageBytes = 4 << 20;
constexpr int kMostMetadataBytes = 8 << 10;
constexpr int kWindowBytes = 1 << 20;
constexpr std::chrono::seconds kDescribePatience{5};

std::shared_ptr<grpc::Channel> channel_over(UniqueFd connection) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostMessageBytes);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // Of no use on one machine, and a ping and a window update beside every message.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  return grpc::CreateCustomInsecureChannelFromFd("plugin", connection.release(), arguments);
}

}  // namespace

Session::Session(const Settings& settings, std::string plugin, Events events)
    : settings_(settings),
      plugin_(std::move(plugin)),
      events_(std::move(events)),
      looks_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  std::thread([this] { serve(); }).detach();
}

void Session::use_connection(UniqueFd connection) {
  const std::lock_guard lock(mutex_);
  connection_ = std::move(connection);
  is_absent_ = false;
  changed_.notify_all();
}

void Session::use_worker(UniqueFd socket) {
  auto link = std::make_shared<const UniqueFd>(std::move(socket));
  {
    const std::lock_guard lock(mutex_);
    link_ = link;
    if (is_absent_) tell(link, remote::Lost{});
    changed_.notify_all();
  }
  // Another worker knows nothing of this one's calls: the stream begins anew.
  look_again();
  for (int turn = 0; turn < 2; ++turn) std::thread([this, link] { carry(link); }).detach();
}

void Session::note_absent() {
  const std::lock_guard lock(mutex_);
  is_absent_ = true;
  if (link_ != nullptr) tell(link_, remote::Lost{});
}

void Session::announce() {
  const std::lock_guard lock(mutex_);
  if (!is_connected_ && !connection_) events_.disconnected();
}

void Session::serve() {
  for (;;) {
    events_.disconnected();
    UniqueFd connection;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return static_cast<bool>(connection_); });
      connection = std::move(connection_);
      is_connected_ = true;
    }
    // To be watched: nobody reads from the stream while there is no call.
    const UniqueFd watched(::fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
    const auto stub = v1::Emulator::NewStub(channel_over(std::move(connection)));
    while (serve_connection(*stub, watched.get())) {
    }
    const std::lock_guard lock(mutex_);
    is_connected_ = false;
    is_absent_ = true;
    if (link_ != nullptr) tell(link_, remote::Lost{});
  }
}

bool Session::serve_connection(Stub& stub, int connection) {
  remote::Described described;
  if (!describe(stub, described)) return false;
  Link link;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return link_ != nullptr; });
    link = link_;
  }
  grpc::ClientContext context;
  const auto exchange = std::make_shared<Exchange>(stub.Serve(&context));
  v1::ServeRequest first;
  describe_container(settings_, *first.mutable_container());
  if (exchange->write(first)) {
    {
      const std::lock_guard lock(mutex_);
      exchange_ = exchange;
      exchange_epoch_ = described.epoch;
    }
    tell(link, described);
    events_.serving();
    wait_for_end(connection, link, *exchange);
  }
  context.TryCancel();
  exchange->finish();
  const std::lock_guard lock(mutex_);
  exchange_.reset();
  // Ended by another worker, and not by the plugin.
  return link != link_;
}

void Session::wait_for_end(int connection, const Link& link, const Exchange& exchange) {
  for (;;) {
    std::array<pollfd, 2> looks{pollfd{.fd = connection, .events = POLLRDHUP, .revents = 0},
                                pollfd{.fd = looks_.get(), .events = POLLIN, .revents = 0}};
    static_cast<void>(::poll(looks.data(), looks.size(), -1));
    eventfd_t count = 0;
    static_cast<void>(::eventfd_read(looks_.get(), &count));
    const std::lock_guard lock(mutex_);
    if (looks[0].revents != 0 || link_ != link || exchange.is_broken()) return;
  }
}

void Session::look_again() {
  static_cast<void>(::eventfd_write(looks_.get(), 1));
}

bool Session::describe(Stub& stub, remote::Described& described) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDescribePatience);
  v1::DescribeRequest request;
  describe_container(settings_, *request.mutable_container());
  v1::Description description;
  if (const auto status = stub.Describe(&context, request, &description); !status.ok()) {
    // One that has just ended says nothing, and is asked again when it is back.
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
      events_.says("plugin " + plugin_ +
                   " does not describe what it serves: " + status.error_message());
    }
    return false;
  }
  auto shapes = shapes_of(description);
  if (!shapes) {
    events_.says("plugin " + plugin_ + " is not used: " + shapes.error().message);
    return false;
  }
  described = {.epoch = ++epoch_, .shapes = std::move(*shapes)};
  return true;
}

void Session::give(const v1::ServeResponse& response, const Link& link) const {
  auto translated = translate(response);
  if (translated) return tell(link, translated->answer, translated->file.get());
  events_.says("plugin " + plugin_ +
               " gave a wrong answer, its caller gets EIO: " + translated.error().message);
  tell(link, remote::Answer{.id = response.id(), .given = Errno{EIO}, .writes = {}});
}

void Session::carry(const Link& link) {
  for (;;) {
    const auto received = receive_with_fds(link->get(), remote::kMostMessageBytes);
    if (!received || received->bytes.empty()) break;
    const auto message = remote::decode_to_bridge(received->bytes);
    if (!message) {
      events_.says(message.error().message);
      break;
    }
    carry_one(*message, link);
  }
  {
    const std::lock_guard lock(mutex_);
    if (link_ == link) link_.reset();
  }
  look_again();
  events_.worker_left();
}

void Session::carry_one(const remote::ToBridge& message, const Link& link) {
  std::shared_ptr<Exchange> exchange;
  std::uint32_t epoch = 0;
  {
    const std::lock_guard lock(mutex_);
    exchange = exchange_;
    epoch = exchange_epoch_;
  }
  if (exchange == nullptr) return;
  v1::ServeRequest request;
  bool is_whole = true;
  if (const auto* call = std::get_if<remote::Call>(&message)) {
    if (call->epoch != epoch) return;
    write_call(*call, *request.mutable_call());
    is_whole =
        exchange->ask(request, [&](const v1::ServeResponse& response) { give(response, link); });
  } else {
    request.set_cancelled(std::get<remote::Cancelled>(message).id);
    is_whole = exchange->write(request);
  }
  if (!is_whole) look_again();
}

void Session::tell(const Link& link, const remote::FromBridge& message, int fd) const {
  // A worker that has gone is not told.
  static_cast<void>(send_with_fd(link->get(), encode(message), fd));
}

}  // namespace sidecall::bridge
