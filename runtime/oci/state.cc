#include "oci/state.h"

#include <algorithm>
#include <array>
#include <limits>

#include "oci/json.h"

namespace sidecall::oci {
namespace {

constexpr std::size_t kMaxState = 1U << 20;
constexpr std::size_t kMaxId = 1024;
constexpr std::array<std::string_view, 4> kStatuses = {"creating", "created", "running", "stopped"};

// An id becomes part of file names, here and in the runtimes.
bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxId && id != "." && id != ".." &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '+' || c == '.' || c == '-';
         });
}

pid_t read_pid(const Node& node) {
  return static_cast<pid_t>(node.number(std::numeric_limits<pid_t>::max()));
}

// The members that tell a container from another.
State read_identity(const Node& node) {
  State state;
  const Node id = node.required("id");
  state.id = id.text();
  if (!is_id(state.id)) id.reject("must be 1 to 1024 of A-Z a-z 0-9 _ + . -");
  const Node status = node.required("status");
  state.status = status.text();
  if (std::find(kStatuses.begin(), kStatuses.end(), state.status) == kStatuses.end()) {
    status.reject("must be creating, created, running or stopped");
  }
  const Node bundle = node.required("bundle");
  state.bundle = bundle.text();
  for (const auto& [key, value] : node.nullable("annotations").members()) {
    state.annotations.emplace(key, value.text());
  }
  return state;
}

State read_state(const Node& node) {
  State state = read_identity(node);
  const bool alive = state.status == "created" || state.status == "running";
  const Node pid = alive ? node.required("pid") : node.nullable("pid");
  state.pid = read_pid(pid);
  if (alive && state.pid == 0) pid.reject("must be a process");
  const Node bundle = node.required("bundle");
  if (!state.bundle.starts_with('/')) bundle.reject("must be an absolute path");
  return state;
}

ContainerProcessState read_container_process_state(const Node& node) {
  ContainerProcessState state;
  state.fds = node.required("fds").texts();
  state.pid = read_pid(node.required("pid"));
  state.metadata = node.nullable("metadata").text();
  const Node inner = node.required("state");
  state.state = read_identity(inner);
  state.state.pid = read_pid(inner.required("pid"));
  return state;
}

template <typename T>
Result<T> parse(std::string_view json, T (*read)(const Node&)) {
  const auto document = parse_json(json, kMaxState);
  if (!document) return tl::unexpected<Error>(document.error());
  Node::Finding finding;
  T state = read(Node(*document, finding));
  if (finding.found()) return finding.take();
  return state;
}

}  // namespace

Result<State> parse_state(std::string_view json) {
  return parse(json, read_state);
}

Result<ContainerProcessState> parse_container_process_state(std::string_view json) {
  return parse(json, read_container_process_state);
}

}  // namespace sidecall::oci
