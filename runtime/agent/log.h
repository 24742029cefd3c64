// The agent's log: one line per event on standard error, for the journal or a JSON collector.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "agent/log_limit.h"

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
// No sandbox fills the log: of lines with a field "sandbox" each sandbox gets 10 a second, and 100
// at once; of audit records 1,000 a second, and 5,000 at once. How many were left out is said with
// the next that is written. May be used by any thread; copies write to the same place.
class Log {
 public:
  using Fields = std::initializer_list<LogField>;

  // To standard error: as the journal wants it, where it reads that.
  Log(LogFormat format, LogLevel least);
  // For the journal a line begins with "<N>", its priority (sd-daemon(3)), and has no time.
  Log(LogFormat format, LogLevel least, std::shared_ptr<spdlog::sinks::sink> sink,
      bool for_journal = false);

  void debug(std::string_view message, Fields fields = {}) const;
  void info(std::string_view message, Fields fields = {}) const;
  void warn(std::string_view message, Fields fields = {}) const;
  void error(std::string_view message, Fields fields = {}) const;
  // What was done for a container, whatever the least level is.
  void audit(std::string_view message, Fields fields) const;

 private:
  struct Limits;
  void write_limited(LogLevel level, std::string_view message, Fields fields,
                     LogLimit& limit) const;
  void write_leveled(LogLevel level, std::string_view message, Fields fields) const;
  void write(LogLevel level, std::string_view message, Fields fields) const;
  LogFormat format_;
  LogLevel least_;
  bool for_journal_;
  std::shared_ptr<spdlog::logger> logger_;
  std::shared_ptr<Limits> limits_;
};

// `text` with every byte that is not printable ASCII replaced by '?': for an answer that must be
// one line.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace sidecall::agent
