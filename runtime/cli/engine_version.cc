#include "cli/engine_version.h"

#include <charconv>

namespace sidecall::cli {

std::optional<EngineVersion> find_version(std::string_view output) {
  constexpr std::string_view kDigits = "0123456789";
  const char* const end = output.data() + output.size();
  for (auto start = output.find_first_of(kDigits); start != std::string_view::npos;) {
    EngineVersion version;
    const auto major = std::from_chars(output.data() + start, end, version.major);
    if (major.ec == std::errc{} && major.ptr != end && *major.ptr == '.') {
      const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
      if (minor.ec == std::errc{}) return version;
    }
    start = output.find_first_not_of(kDigits, start);
    if (start != std::string_view::npos) start = output.find_first_of(kDigits, start);
  }
  return std::nullopt;
}

}  // namespace sidecall::cli
