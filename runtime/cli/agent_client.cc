#include "cli/agent_client.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/create_channel.h>

#include <chrono>

#include "base/paths.h"

namespace sidecall::cli {
namespace {

constexpr std::chrono::seconds kDeadline{5};

Error error_of(const grpc::Status& status, const std::string& run_directory) {
  const std::string socket = in_directory(run_directory, kControlSocket);
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return {"sidecalld does not answer on " + socket +
              "; start it with `systemctl start sidecalld` or `sidecalld --run-dir " +
              run_directory + "` (both need root, and so does this)"};
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {"sidecalld is silent on " + socket + "; see its log"};
    default:
      return {status.error_message()};
  }
}

}  // namespace

AgentClient::AgentClient(const std::string& run_directory) : run_directory_(run_directory) {
  grpc::ChannelArguments arguments;
  // A proxy of the environment's is not for a Unix socket.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  stub_ = v1::Agent::NewStub(
      grpc::CreateCustomChannel("unix:" + in_directory(run_directory, kControlSocket),
                                grpc::InsecureChannelCredentials(), arguments));
}

template <typename Response, typename Request>
Result<Response> AgentClient::call(Method<Response, Request> method, const Request& request) const {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  Response response;
  const grpc::Status status = (*stub_.*method)(&context, request, &response);
  if (!status.ok()) return tl::unexpected<Error>(error_of(status, run_directory_));
  return response;
}

Result<v1::ListSandboxesResponse> AgentClient::list() const {
  return call(&v1::Agent::Stub::ListSandboxes, v1::ListSandboxesRequest());
}

Result<v1::GetStatisticsResponse> AgentClient::statistics(const std::string& id) const {
  v1::GetStatisticsRequest request;
  request.set_id(id);
  return call(&v1::Agent::Stub::GetStatistics, request);
}

Result<v1::DrainResponse> AgentClient::drain(bool undo) const {
  v1::DrainRequest request;
  request.set_undo(undo);
  return call(&v1::Agent::Stub::Drain, request);
}

Result<std::string> find_id(const v1::ListSandboxesResponse& sandboxes, const std::string& prefix) {
  std::string found;
  for (const v1::Sandbox& sandbox : sandboxes.sandboxes()) {
    if (sandbox.id() == prefix) return prefix;
    if (!sandbox.id().starts_with(prefix)) continue;
    if (!found.empty()) {
      return failure(fmt::format("more than one sandbox starts with \"{}\": {}, {}", prefix, found,
                                 sandbox.id()));
    }
    found = sandbox.id();
  }
  if (found.empty()) return failure("no sandbox \"" + prefix + "\"; see `sidecall ls`");
  return found;
}

Result<std::string> to_json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return failure(status.ToString());
  return text;
}

}  // namespace sidecall::cli
