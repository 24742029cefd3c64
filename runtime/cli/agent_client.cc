#include "cli/agent_client.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/create_channel.h>

#include <chrono>

#include "base/paths.h"

namespace sidecall::cli {
namespace {

// A worker gets five seconds to finish its calls, and ten to start.
constexpr std::chrono::seconds kPolicyDeadline{20};

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

Result<std::string> json_of(const google::protobuf::Message& message,
                            google::protobuf::util::JsonPrintOptions options) {
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return failure(status.ToString());
  return text;
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
Result<Response> AgentClient::call(Method<Response, Request> method, const Request& request,
                                   std::chrono::seconds deadline) const {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + deadline);
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

Result<v1::GetStatisticsResponse> AgentClient::find_statistics(const std::string& prefix) const {
  if (prefix.empty()) return statistics("");
  auto sandboxes = list();
  if (!sandboxes) return pass_on(std::move(sandboxes));
  auto id = find_id(*sandboxes, prefix);
  if (!id) return pass_on(std::move(id));
  return statistics(*id);
}

Result<v1::DrainResponse> AgentClient::drain(bool undo) const {
  v1::DrainRequest request;
  request.set_undo(undo);
  return call(&v1::Agent::Stub::Drain, request);
}

Result<v1::SetPolicyResponse> AgentClient::set_policy(const v1::SetPolicyRequest& request) const {
  return call(&v1::Agent::Stub::SetPolicy, request, kPolicyDeadline);
}

Result<void> AgentClient::watch(const v1::WatchRequest& request,
                                const std::function<void(const v1::Event&)>& each) const {
  grpc::ClientContext context;
  const auto reader = stub_->Watch(&context, request);
  v1::Event event;
  while (reader->Read(&event)) each(event);
  const grpc::Status status = reader->Finish();
  if (!status.ok()) return tl::unexpected<Error>(error_of(status, run_directory_));
  return {};
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
  return json_of(message, options);
}

Result<std::string> to_json_line(const google::protobuf::Message& message) {
  return json_of(message, {}).map([](const std::string& text) { return text + "\n"; });
}

}  // namespace sidecall::cli
