// "did you mean": the nearest of the words that would have been right.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sidecall::oci {

// ` (did you mean "mknod"?)`, or "" where no candidate is within two edits of `word`.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace sidecall::oci
