// The agent's log: one line per event on standard error, for the journal or a JSON collector.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class logger;
namespace sinks {
class sink;
}
}  // namespace spdlog

namespace sidecall::agent {

enum class LogFormat : std::uint8_t { kText, kJson };
enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };

struct LogField {
  std::string_view key;
  std::string value;
};

// Whatever values hold, a line stays one line: bytes that are not printable ASCII are escaped.
// May be used by any thread; copies write to the same place.
class Log {
 public:
  using Fields = std::initializer_list<LogField>;

  Log(LogFormat format, LogLevel least);
  Log(LogFormat format, LogLevel least, std::shared_ptr<spdlog::sinks::sink> sink);

  void debug(std::string_view message, Fields fields = {}) const;
  void info(std::string_view message, Fields fields = {}) const;
  void warn(std::string_view message, Fields fields = {}) const;
  void error(std::string_view message, Fields fields = {}) const;

 private:
  void write(LogLevel level, std::string_view message, Fields fields) const;
  LogFormat format_;
  std::shared_ptr<spdlog::logger> logger_;
};

// `text` with every byte that is not printable ASCII replaced by '?': for an answer that must be
// one line.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace sidecall::agent
