#include "oci/log_line.h"

#include <array>

#include "oci/json.h"

namespace sidecall::oci {
namespace {

// RFC 3339, UTC.
std::string timestamp(std::time_t now) {
  std::tm parts{};
  if (::gmtime_r(&now, &parts) == nullptr) return {};
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// Where a message is no UTF-8 its bad bytes are replaced.
std::string quote(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string error_line(LogFormat format, std::time_t now, std::string_view message) {
  if (format == LogFormat::kJson) {
    return quote(Json{{"level", "error"}, {"msg", message}, {"time", timestamp(now)}}) + "\n";
  }
  return "time=\"" + timestamp(now) + "\" level=error msg=" + quote(Json(message)) + "\n";
}

}  // namespace sidecall::oci
