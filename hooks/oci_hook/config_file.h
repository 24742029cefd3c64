// A bundle's config.json, edited where it lies.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sidecall::oci_hook {

// Replaces the file at `path` in one step. Its mode and owner stay.
[[nodiscard]] Result<void> replace_config_file(const std::string& path, std::string_view text);

}  // namespace sidecall::oci_hook
