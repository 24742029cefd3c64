// Reading what container engines say about themselves.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sidecall::cli {

struct EngineVersion {
  unsigned major = 0;
  unsigned minor = 0;
  friend bool operator<(const EngineVersion& a, const EngineVersion& b) {
    return a.major != b.major ? a.major < b.major : a.minor < b.minor;
  }
};

// The first number of the form N.N in what `ENGINE --version` prints.
[[nodiscard]] std::optional<EngineVersion> find_version(std::string_view output);

}  // namespace sidecall::cli
