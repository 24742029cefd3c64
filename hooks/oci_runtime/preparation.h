// Putting the container that is about to be created under sidecall.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "oci_runtime/invocation.h"
#include "oci_runtime/own_options.h"

namespace sidecall::oci_runtime {

// Edits the bundle's config.json in place, where its container is chosen: by annotation, by
// a label that options.labelled allows, or by options.policy. A pod's own container, which only
// holds its namespaces, is never. What cannot be read or is no JSON stays as it is: the runtime
// says what is wrong with it. Returns notes, one line each; an error means that the container must
// not start.
[[nodiscard]] Result<std::vector<std::string>> prepare(const OwnOptions& options,
                                                       const Invocation& invocation,
                                                       const std::string& hook_path);

}  // namespace sidecall::oci_runtime
