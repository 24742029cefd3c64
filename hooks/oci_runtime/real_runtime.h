// The OCI runtime that does the work.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sidecall::oci_runtime {

// An absolute path. `wish` is a name or a path, or "": then it is what `own_name` ends with after
// "sidecall-runtime-", else crun or runc, whichever there is. Names are looked for in `search`, a
// PATH. Ourselves, under whatever name, is no answer.
[[nodiscard]] Result<std::string> find_runtime(std::string_view wish, std::string_view own_name,
                                               std::string_view search);

// Where a name is looked for: the directories of the system's programs. An engine's own PATH may be
// empty, or its user's.
inline constexpr std::string_view kRuntimePath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace sidecall::oci_runtime
