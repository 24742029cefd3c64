// What the cases of the xattr(7) calls have in common.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "grid/case.h"

namespace sidecall::grid {

// On the policy's list, as is every other that begins so.
inline constexpr const char* kOpaque = "trusted.overlay.opaque";

// setxattr(2), lsetxattr(2), removexattr(2) and lremovexattr(2).
long set_attribute(const std::string& path, std::string_view value = "y", int flags = 0,
                   const std::string& name = kOpaque);
long set_link_attribute(const std::string& path, std::string_view value = "y", int flags = 0,
                        const std::string& name = kOpaque);
long remove_attribute(const std::string& path, const std::string& name = kOpaque);
long remove_link_attribute(const std::string& path, const std::string& name = kOpaque);

// Whether the attribute is there and has this value, of a link itself; and whether it is not there.
[[nodiscard]] bool has_attribute(const std::string& path, std::string_view value,
                                 const std::string& name = kOpaque);
[[nodiscard]] bool lacks_attribute(const std::string& path, const std::string& name = kOpaque);

// An address where nobody may look.
[[nodiscard]] char* no_memory(const Checks& check);

[[nodiscard]] std::span<const Case> xattr_values();
[[nodiscard]] std::span<const Case> xattr_arguments();
[[nodiscard]] std::span<const Case> xattr_paths();
[[nodiscard]] std::span<const Case> xattr_reads();
[[nodiscard]] std::span<const Case> xattr_credentials();

}  // namespace sidecall::grid
