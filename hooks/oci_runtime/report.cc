#include "oci_runtime/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <string>

#include "base/file.h"
#include "oci/log_line.h"

namespace sidecall::oci_runtime {
namespace {

constexpr unsigned kLogMode = 0644;
// crun's way of naming a file; its other schemes are not files.
constexpr std::string_view kFileScheme = "file:";

std::string with_name(std::string_view line) {
  return std::string("sidecall-runtime: ").append(line);
}

std::string log_path(const Invocation& invocation) {
  const std::string_view log = invocation.log;
  if (log.starts_with(kFileScheme)) return std::string(log.substr(kFileScheme.size()));
  const bool has_scheme = log.starts_with("journald:") || log.starts_with("syslog:");
  return has_scheme ? std::string() : std::string(log);
}

}  // namespace

// A message that cannot be written is lost: there is nowhere left to say so.
void say(std::string_view line) {
  (void)write_fd(STDERR_FILENO, with_name(line) + "\n");
}

void say_failure(std::string_view line, const Invocation& invocation) {
  say(line);
  const std::string path = log_path(invocation);
  if (path.empty()) return;
  const auto log = open_file(path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY, kLogMode);
  if (!log) return;
  const auto format = invocation.log_format == Invocation::LogFormat::kJson ? oci::LogFormat::kJson
                                                                            : oci::LogFormat::kText;
  (void)write_fd(log->get(), oci::error_line(format, std::time(nullptr), with_name(line)));
}

}  // namespace sidecall::oci_runtime
