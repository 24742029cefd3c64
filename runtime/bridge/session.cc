#include "bridge/session.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
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
    : settings_(settings), plugin_(std::move(plugin)), events_(std::move(events)) {
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
    // Another worker knows nothing of this one's calls: the stream begins anew.
    if (context_ != nullptr) context_->TryCancel();
    changed_.notify_all();
  }
  std::thread([this, link = std::move(link)] { carry(link); }).detach();
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
    const auto stub = v1::Emulator::NewStub(channel_over(std::move(connection)));
    while (serve_connection(*stub)) {
    }
    const std::lock_guard lock(mutex_);
    is_connected_ = false;
    is_absent_ = true;
    if (link_ != nullptr) tell(link_, remote::Lost{});
  }
}

bool Session::serve_connection(Stub& stub) {
  remote::Described described;
  if (!describe(stub, described)) return false;
  grpc::ClientContext context;
  Link link;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return link_ != nullptr; });
    link = link_;
    context_ = &context;
  }
  const auto stream = stub.Serve(&context);
  v1::ServeRequest first;
  describe_container(settings_, *first.mutable_container());
  bool is_there = stream->Write(first);
  if (is_there) {
    {
      const std::lock_guard lock(write_mutex_);
      stream_ = stream.get();
      stream_epoch_ = described.epoch;
    }
    tell(link, described);
    events_.serving();
    read_answers(*stream, link);
    context.TryCancel();  // for a write that waits for room
    const std::lock_guard lock(write_mutex_);
    stream_ = nullptr;
  }
  static_cast<void>(stream->Finish());
  const std::lock_guard lock(mutex_);
  context_ = nullptr;
  // Ended by use_worker(), and not by the plugin.
  return link != link_;
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

void Session::read_answers(Stream& stream, const Link& link) {
  v1::ServeResponse response;
  while (stream.Read(&response)) {
    auto translated = translate(response);
    if (translated) {
      is_answering_ = true;
      tell(link, translated->answer, translated->file.get());
      is_answering_ = false;
      continue;
    }
    events_.says("plugin " + plugin_ +
                 " gave a wrong answer, its caller gets EIO: " + translated.error().message);
    tell(link, remote::Answer{.id = response.id(), .given = Errno{EIO}, .writes = {}});
  }
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
    carry_one(*message);
  }
  {
    const std::lock_guard lock(mutex_);
    if (link_ == link) {
      link_.reset();
      if (context_ != nullptr) context_->TryCancel();
    }
  }
  events_.worker_left();
}

void Session::carry_one(const remote::ToBridge& message) {
  v1::ServeRequest request;
  const auto* const call = std::get_if<remote::Call>(&message);
  if (call != nullptr) {
    write_call(*call, *request.mutable_call());
  } else {
    request.set_cancelled(std::get<remote::Cancelled>(message).id);
  }
  // The caller that has been answered may have made its next call already, on this CPU, before the
  // other thread was back in its Read: two that meet in gRPC are served by a third.
  if (is_answering_) std::this_thread::yield();
  const std::lock_guard lock(write_mutex_);
  if (stream_ == nullptr || (call != nullptr && call->epoch != stream_epoch_)) return;
  // A stream that fails ends the reading of answers, which tells the worker.
  static_cast<void>(stream_->Write(request));
}

void Session::tell(const Link& link, const remote::FromBridge& message, int fd) const {
  // A worker that has gone is not told.
  static_cast<void>(send_with_fd(link->get(), encode(message), fd));
}

}  // namespace sidecall::bridge
