#include "cli/event_line.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sidecall::cli {
namespace {

std::string time_of(std::int64_t unix_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::time_t seconds = unix_ns / kSecond;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds),
                     unix_ns % kSecond / 1'000'000);
}

std::string call_text(const v1::CallEvent& call) {
  std::string text = call.syscall();
  if (!call.what().empty()) text += ": " + call.what() + ":";
  text += call.errno_name().empty() ? fmt::format(" {}", call.value()) : " " + call.errno_name();
  text += fmt::format(" tid={}", call.tid());
  if (call.has_uid()) text += fmt::format(" uid={}", call.uid());
  return text;
}

std::string details_of(const v1::Event& event) {
  if (event.has_call()) return call_text(event.call());
  if (!event.policy().empty()) return "policy=" + event.policy();
  if (!event.cpus().empty()) return "cpus=" + event.cpus();
  if (event.worker_pid() != 0) return fmt::format("worker_pid={}", event.worker_pid());
  if (event.lost() != 0) return fmt::format("lost={}", event.lost());
  return "";
}

}  // namespace

std::string event_kind_name(v1::Event::Kind kind) {
  std::string name = v1::Event::Kind_Name(kind);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return name;
}

std::optional<v1::Event::Kind> event_kind(std::string_view name) {
  for (int number = 1; number < v1::Event::Kind_ARRAYSIZE; ++number) {
    const auto kind = static_cast<v1::Event::Kind>(number);
    if (event_kind_name(kind) == name) return kind;
  }
  return std::nullopt;
}

std::string event_kind_names() {
  std::string names;
  for (int number = 1; number < v1::Event::Kind_ARRAYSIZE; ++number) {
    if (number > 1) names += ", ";
    names += event_kind_name(static_cast<v1::Event::Kind>(number));
  }
  return names;
}

std::string event_line(const v1::Event& event) {
  const std::string details = details_of(event);
  return fmt::format("{} {} {}{}{}\n", time_of(event.unix_ns()),
                     event.sandbox().empty() ? "-" : event.sandbox(), event_kind_name(event.kind()),
                     details.empty() ? "" : " ", details);
}

}  // namespace sidecall::cli
