// The agent, over its control socket.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "sidecall/v1/agent.grpc.pb.h"

namespace sidecall::cli {

// Each call takes at most 5 s, unless it says otherwise. Errors are lines for a person.
class AgentClient {
 public:
  explicit AgentClient(const std::string& run_directory);

  [[nodiscard]] Result<v1::ListSandboxesResponse> list() const;
  // Figures of the sandbox with this id, or of all for "".
  [[nodiscard]] Result<v1::GetStatisticsResponse> statistics(const std::string& id) const;
  // The same of the one sandbox that find_id() finds for `prefix`, or of all for "".
  [[nodiscard]] Result<v1::GetStatisticsResponse> find_statistics(const std::string& prefix) const;
  [[nodiscard]] Result<v1::DrainResponse> drain(bool undo) const;
  [[nodiscard]] Result<v1::SetPolicyResponse> set_policy(const v1::SetPolicyRequest& request) const;
  // Until the stream ends, without a time limit.
  [[nodiscard]] Result<void> watch(const v1::WatchRequest& request,
                                   const std::function<void(const v1::Event&)>& each) const;

 private:
  template <typename Response, typename Request>
  using Method = grpc::Status (v1::Agent::Stub::*)(grpc::ClientContext*, const Request&, Response*);
  template <typename Response, typename Request>
  [[nodiscard]] Result<Response> call(
      Method<Response, Request> method, const Request& request,
      std::chrono::seconds deadline = std::chrono::seconds(5)) const;

  std::string run_directory_;
  std::unique_ptr<v1::Agent::Stub> stub_;
};

// The one id among the sandboxes that is `prefix` or, failing that, starts with it.
[[nodiscard]] Result<std::string> find_id(const v1::ListSandboxesResponse& sandboxes,
                                          const std::string& prefix);

// proto3's JSON form, with the fields' own names and those that are zero.
[[nodiscard]] Result<std::string> to_json(const google::protobuf::Message& message);
// The same on one line, without what is zero, and a newline.
[[nodiscard]] Result<std::string> to_json_line(const google::protobuf::Message& message);

}  // namespace sidecall::cli
