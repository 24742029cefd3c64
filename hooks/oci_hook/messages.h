// Where the hook's messages go.
#pragma once

#include <string_view>

namespace sidecall::oci_hook {

// Writes "sidecall-hook: LINE" to standard error.
void say(std::string_view line);

// The same for what makes the container's start fail. podman discards a precreate hook's standard
// error, and crun that of every hook, and report an exit status alone: where one of them runs us
// so, the line goes to its own standard error, which is the user's.
void say_failure(std::string_view line);

}  // namespace sidecall::oci_hook
