#include "agent/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

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

// journald tells a service where it reads from: systemd.exec(5), JOURNAL_STREAM.
bool journal_reads_stderr() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  return stream != nullptr && ::fstat(STDERR_FILENO, &status) == 0 &&
         fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

int priority_of(LogLevel level) {
  static constexpr std::array kPriorities = {7, 6, 4, 3};
  return kPriorities.at(static_cast<std::size_t>(level));
}

}  // namespace

struct Log::Limits {
  LogLimit lines{{.at_once = 100, .a_second = 10}};
  LogLimit audits{{.at_once = 5000, .a_second = 1000}};
};

Log::Log(LogFormat format, LogLevel least)
    : Log(format, least, std::make_shared<spdlog::sinks::stderr_sink_mt>(),
          journal_reads_stderr()) {}

Log::Log(LogFormat format, LogLevel least, std::shared_ptr<spdlog::sinks::sink> sink,
         bool for_journal)
    : format_(format),
      least_(least),
      for_journal_(for_journal),
      logger_(std::make_shared<spdlog::logger>("sidecalld", std::move(sink))),
      limits_(std::make_shared<Limits>()) {
  logger_->set_level(spdlog::level::debug);  // audit records are written in any case
  logger_->flush_on(spdlog::level::debug);
  const bool json = format == LogFormat::kJson;
  if (for_journal) {
    logger_->set_pattern(json ? R"(%v})" : "%v");
  } else {
    logger_->set_pattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
                              : "time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
  }
}

void Log::write(LogLevel level, std::string_view message, Fields fields) const {
  const bool json = format_ == LogFormat::kJson;
  std::string line;
  if (for_journal_) line = fmt::format("<{}>{}", priority_of(level), json ? "{" : "");
  line += (json ? "\"msg\":" : "msg=") + quote(message);
  for (const LogField& field : fields) {
    line += json ? fmt::format(",\"{}\":{}", field.key, quote(field.value))
                 : fmt::format(" {}={}", field.key, text_value(field.value));
  }
  logger_->log(spdlog_level(level), spdlog::string_view_t(line));
}

void Log::write_limited(LogLevel level, std::string_view message, Fields fields,
                        LogLimit& limit) const {
  const auto* const sandbox = std::find_if(
      fields.begin(), fields.end(), [](const LogField& field) { return field.key == "sandbox"; });
  if (sandbox != fields.end()) {
    const auto verdict = limit.take(sandbox->value, LogLimit::Clock::now());
    if (!verdict.passes) return;
    if (verdict.left_out != 0) {
      write(LogLevel::kWarn, "lines of this sandbox left out: too many",
            {{"sandbox", sandbox->value}, {"count", std::to_string(verdict.left_out)}});
    }
  }
  write(level, message, fields);
}

void Log::write_leveled(LogLevel level, std::string_view message, Fields fields) const {
  if (level >= least_) write_limited(level, message, fields, limits_->lines);
}

void Log::debug(std::string_view message, Fields fields) const {
  write_leveled(LogLevel::kDebug, message, fields);
}
void Log::info(std::string_view message, Fields fields) const {
  write_leveled(LogLevel::kInfo, message, fields);
}
void Log::warn(std::string_view message, Fields fields) const {
  write_leveled(LogLevel::kWarn, message, fields);
}
void Log::error(std::string_view message, Fields fields) const {
  write_leveled(LogLevel::kError, message, fields);
}

void Log::audit(std::string_view message, Fields fields) const {
  write_limited(LogLevel::kInfo, message, fields, limits_->audits);
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return !is_printable(c); }, '?');
  return line;
}

}  // namespace sidecall::agent
