// Saying why a container does not start, where its engine looks.
#pragma once

#include <string_view>

#include "oci_runtime/invocation.h"

namespace sidecall::oci_runtime {

// Writes "sidecall-runtime: LINE" to standard error.
void say(std::string_view line);

// The same, and the line as an error into the runtime's log, as runc writes it: what docker,
// containerd and CRI-O show their users is the last error there.
void say_failure(std::string_view line, const Invocation& invocation);

}  // namespace sidecall::oci_runtime
