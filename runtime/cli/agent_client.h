// The agent, over its control socket.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "sidecall/v1/agent.grpc.pb.h"

namespace sidecall::cli {

// Each call takes at most 5 s. Errors are lines for a person.
class AgentClient {
 public:
  explicit AgentClient(const std::string& run_directory);

  [[nodiscard]] Result<v1::ListSandboxesResponse> list() const;
  // Figures of the sandbox with this id, or of all for "".
  [[nodiscard]] Result<v1::GetStatisticsResponse> statistics(const std::string& id) const;
  [[nodiscard]] Result<v1::DrainResponse> drain(bool undo) const;

 private:
  template <typename Response, typename Request>
  using Method = grpc::Status (v1::Agent::Stub::*)(grpc::ClientContext*, const Request&, Response*);
  template <typename Response, typename Request>
  [[nodiscard]] Result<Response> call(Method<Response, Request> method,
                                      const Request& request) const;

  std::string run_directory_;
  std::unique_ptr<v1::Agent::Stub> stub_;
};

// The one id among the sandboxes that is `prefix` or, failing that, starts with it.
[[nodiscard]] Result<std::string> find_id(const v1::ListSandboxesResponse& sandboxes,
                                          const std::string& prefix);

// proto3's JSON form, with the fields' own names and those that are zero.
[[nodiscard]] Result<std::string> to_json(const google::protobuf::Message& message);

}  // namespace sidecall::cli
