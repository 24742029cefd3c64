#include "agent/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>

namespace sidecall::agent {
namespace {

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

// A JSON string; also what a quoted text value looks like.
std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (!is_printable(c)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

// Quoted only where a reader could not split the line otherwise.
std::string text_value(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_printable(c) && c != ' ' && c != '"' && c != '=' && c != '\\';
  });
  return plain ? std::string(text) : quote(text);
}

}  // namespace

Log::Log(LogFormat format, LogLevel least)
    : Log(format, least, std::make_shared<spdlog::sinks::stderr_sink_mt>()) {}

Log::Log(LogFormat format, LogLevel least, std::shared_ptr<spdlog::sinks::sink> sink)
    : format_(format), logger_(std::make_shared<spdlog::logger>("sidecalld", std::move(sink))) {
  logger_->set_level(spdlog_level(least));
  logger_->flush_on(spdlog::level::debug);
  logger_->set_pattern(format == LogFormat::kJson
                           ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
                           : "time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
}

void Log::write(LogLevel level, std::string_view message, Fields fields) const {
  if (!logger_->should_log(spdlog_level(level))) return;
  const bool json = format_ == LogFormat::kJson;
  std::string line = (json ? "\"msg\":" : "msg=") + quote(message);
  for (const LogField& field : fields) {
    line += json ? fmt::format(",\"{}\":{}", field.key, quote(field.value))
                 : fmt::format(" {}={}", field.key, text_value(field.value));
  }
  logger_->log(spdlog_level(level), spdlog::string_view_t(line));
}

void Log::debug(std::string_view message, Fields fields) const {
  write(LogLevel::kDebug, message, fields);
}
void Log::info(std::string_view message, Fields fields) const {
  write(LogLevel::kInfo, message, fields);
}
void Log::warn(std::string_view message, Fields fields) const {
  write(LogLevel::kWarn, message, fields);
}
void Log::error(std::string_view message, Fields fields) const {
  write(LogLevel::kError, message, fields);
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return !is_printable(c); }, '?');
  return line;
}

}  // namespace sidecall::agent
