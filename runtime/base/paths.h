// Names that several programs agree on: sockets, directories, annotations.
#pragma once

#include <string>
#include <string_view>

namespace sidecall {

inline constexpr std::string_view kDefaultRunDirectory = "/run/sidecall";
inline constexpr std::string_view kDefaultPolicyDirectory = "/etc/sidecall/policies";
inline constexpr std::string_view kDefaultPolicy = "default";

// Sockets in the run directory, one per role, each mode 0600 in a directory of mode 0700.
//
// seccomp.sock, role "runtime": the listenerPath of OCI profiles. SOCK_STREAM; a connection brings
// one ContainerProcessState and its listener (SCM_RIGHTS), and gets no answer.
inline constexpr std::string_view kListenerSocket = "seccomp.sock";
// hook.sock, role "hook". SOCK_STREAM; the client sends "STAGE\n" and an OCI state (JSON), where
// STAGE is createRuntime or poststop, or just "ping\n", then shuts down writing. The agent answers
// "ok\n" or one line that says what is wrong, and closes. No protobuf: a hook's start-up time is
// added to that of each container.
inline constexpr std::string_view kHookSocket = "hook.sock";
// control.sock, role "control": gRPC, sidecall.v1.Agent and grpc.health.v1.Health.
inline constexpr std::string_view kControlSocket = "control.sock";
// keeper.sock: between sidecalld and its sidecall-keeper (keeper/protocol.h).
inline constexpr std::string_view kKeeperSocket = "keeper.sock";
// What sidecalld has written down of each sandbox for the sidecalld after it.
inline constexpr std::string_view kRecordDirectory = "sandboxes";
// A file that is there while the node is being drained.
inline constexpr std::string_view kDrainMark = "draining";

// Annotations of a container.
// Name of the policy; a container without it gets the hook's --policy, else "default".
inline constexpr std::string_view kPolicyAnnotation = "dev.sidecall.policy";
// "true": start without interception where the agent does not run, instead of failing the start.
inline constexpr std::string_view kOptionalAnnotation = "dev.sidecall.optional";

// "DIRECTORY/NAME"
[[nodiscard]] inline std::string in_directory(std::string_view directory, std::string_view name) {
  return std::string(directory) + "/" + std::string(name);
}

// Absolute path of a program of ours: beside the running one, else in ../libexec/sidecall from
// there. Where it is in neither, the first is returned, so that starting it names it.
[[nodiscard]] std::string program_path(std::string_view name);

}  // namespace sidecall
