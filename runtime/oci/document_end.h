// Where a JSON document ends that comes over a connection which stays open.
#pragma once

#include <string_view>

namespace sidecall::oci {

// Whether `bytes` holds a JSON object or array to its closing bracket. What starts with anything
// else will never be one and counts as whole, so that its reader can refuse it at once. Checks
// nothing else: reading it is parse_container_process_state's.
[[nodiscard]] bool is_whole_document(std::string_view bytes);

}  // namespace sidecall::oci
