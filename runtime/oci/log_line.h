// What an OCI runtime writes into its --log, where engines look for the reason of a failure.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace sidecall::oci {

enum class LogFormat : std::uint8_t { kText, kJson };  // of --log-format

// One line with its newline, of level "error", in runc's form. `message` may hold anything.
[[nodiscard]] std::string error_line(LogFormat format, std::time_t now, std::string_view message);

}  // namespace sidecall::oci
