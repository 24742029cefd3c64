// The states that an OCI runtime hands out. Both come from outside and are read strictly.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sidecall::oci {

// https://github.com/opencontainers/runtime-spec/blob/main/runtime.md#state
struct State {
  std::string id;      // [A-Za-z0-9_+.-]+, at most 1024, not "." or ".."
  std::string status;  // creating, created, running, stopped
  pid_t pid = 0;       // of the container's first process; 0 where there is none
  std::string bundle;
  std::map<std::string, std::string> annotations;
};
[[nodiscard]] Result<State> parse_state(std::string_view json);

// config-linux.md#containerprocessstate: what comes with a listener. With a process that joins a
// running container crun 1.8 sends no more than the id: both pids are 0 then and the bundle is ".".
struct ContainerProcessState {
  std::vector<std::string> fds;
  pid_t pid = 0;  // the process that the filter was installed for
  std::string metadata;
  State state;
};
[[nodiscard]] Result<ContainerProcessState> parse_container_process_state(std::string_view json);

}  // namespace sidecall::oci
