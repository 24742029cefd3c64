#include "plugin/plugin.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sidecall/v1/emulator.grpc.pb.h"

namespace sidecall::plugin {
namespace {

v1::Argument argument(std::uint32_t index, v1::Argument::Kind kind) {
  v1::Argument made;
  made.set_index(index);
  made.set_kind(kind);
  return made;
}

class Service final : public v1::Emulator::Service {
 public:
  explicit Service(const std::vector<Served>& served) : served_(served) {}

  grpc::Status Describe(grpc::ServerContext* /*context*/, const v1::DescribeRequest* /*request*/,
                        v1::Description* description) override {
    for (const Served& each : served_) *description->add_calls() = each.description;
    return grpc::Status::OK;
  }

  grpc::Status Serve(
      grpc::ServerContext* /*context*/,
      grpc::ServerReaderWriter<v1::ServeResponse, v1::ServeRequest>* stream) override {
    v1::Container container;
    v1::ServeRequest request;
    while (stream->Read(&request)) {
      if (request.has_container()) container = request.container();
      if (!request.has_call()) continue;
      v1::ServeResponse response = answer(request.call(), container);
      response.set_id(request.call().id());
      if (!stream->Write(response)) break;
    }
    return grpc::Status::OK;
  }

 private:
  [[nodiscard]] v1::ServeResponse answer(const v1::Call& call,
                                         const v1::Container& container) const {
    const auto found = std::find_if(served_.begin(), served_.end(), [&](const Served& each) {
      return each.description.syscall() == call.syscall();
    });
    return found == served_.end() ? error(ENOSYS) : found->handler(call, container);
  }

  const std::vector<Served>& served_;
};

}  // namespace

v1::Argument reads_string(std::uint32_t index) {
  auto made = argument(index, v1::Argument::KIND_C_STRING);
  made.set_read(true);
  return made;
}

v1::Argument reads_struct(std::uint32_t index, std::uint32_t size) {
  auto made = argument(index, v1::Argument::KIND_STRUCT);
  made.set_size(size);
  made.set_read(true);
  return made;
}

v1::Argument writes_struct(std::uint32_t index, std::uint32_t size) {
  auto made = argument(index, v1::Argument::KIND_STRUCT);
  made.set_size(size);
  made.set_write(true);
  return made;
}

v1::Argument reads_bytes(std::uint32_t index, std::uint32_t length) {
  auto made = argument(index, v1::Argument::KIND_BYTES);
  made.set_length_argument(length);
  made.set_read(true);
  return made;
}

v1::Argument writes_bytes(std::uint32_t index, std::uint32_t length) {
  auto made = argument(index, v1::Argument::KIND_BYTES);
  made.set_length_argument(length);
  made.set_write(true);
  return made;
}

v1::ServeResponse value(std::int64_t value) {
  v1::ServeResponse answer;
  answer.set_value(value);
  return answer;
}

v1::ServeResponse error(int errno_value) {
  v1::ServeResponse answer;
  answer.set_error(errno_value);
  return answer;
}

v1::ServeResponse proceed() {
  v1::ServeResponse answer;
  static_cast<void>(answer.mutable_proceed());
  return answer;
}

v1::ServeResponse file(std::string contents, bool cloexec) {
  v1::ServeResponse answer;
  answer.mutable_file()->set_contents(std::move(contents));
  answer.mutable_file()->set_cloexec(cloexec);
  return answer;
}

v1::ServeResponse open(std::string path, int flags, unsigned mode) {
  v1::ServeResponse answer;
  answer.mutable_open()->set_path(std::move(path));
  answer.mutable_open()->set_flags(static_cast<std::uint32_t>(flags));
  answer.mutable_open()->set_mode(mode);
  return answer;
}

v1::ServeResponse with(v1::ServeResponse answer, std::uint32_t index, std::string_view bytes) {
  v1::Write& write = *answer.add_writes();
  write.set_index(index);
  write.set_data(std::string(bytes));
  return answer;
}

std::string_view bytes_of(const v1::Call& call, std::uint32_t index) {
  for (const v1::Buffer& buffer : call.buffers()) {
    if (buffer.index() == index) return buffer.data();
  }
  return {};
}

Served serves(std::string syscall, std::vector<v1::Argument> arguments, bool idempotent,
              Handler handler) {
  Served made;
  made.description.set_syscall(std::move(syscall));
  for (v1::Argument& each : arguments) *made.description.add_arguments() = std::move(each);
  made.description.set_idempotent(idempotent);
  made.handler = std::move(handler);
  return made;
}

Result<void> run(const std::string& path, const std::vector<Served>& served) {
  Service service(served);
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials(), &bound);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr || bound == 0) {
    return failure("listening on " + path + ": is its directory there and ours to write?");
  }
  server->Wait();
  return {};
}

}  // namespace sidecall::plugin
