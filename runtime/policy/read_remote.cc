#include "policy/read_remote.h"

#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include "oci/seccomp_json.h"

namespace sidecall::policy {
namespace {

using oci::Node;
using Absent = emulators::Remote::Absent;

constexpr std::array<std::string_view, 5> kRemoteKeys = {"plugin", "deadline", "absent", "errno",
                                                         "may_continue"};
constexpr std::int64_t kMaxErrno = 4095;  // MAX_ERRNO of linux/err.h
constexpr std::uint32_t kDefaultDeadlineMs = 1000;
constexpr std::uint32_t kMostDeadlineMs = 3'600'000;

std::string read_plugin(const Node& node) {
  std::string path = node.text();
  if (!path.starts_with('/') || path.size() >= sizeof(sockaddr_un::sun_path)) {
    node.reject("must be the absolute path of a Unix socket, of at most " +
                std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes");
  }
  return path;
}

// "500ms" or "2s".
std::optional<std::uint32_t> milliseconds(std::string_view text) {
  std::uint32_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  const std::string_view unit(end, static_cast<std::size_t>(last - end));
  const std::uint32_t factor = unit == "s" ? 1000 : 1;
  if (error != std::errc() || text.starts_with('0') || (unit != "s" && unit != "ms")) {
    return std::nullopt;
  }
  if (number > kMostDeadlineMs / factor) return std::nullopt;
  return number * factor;
}

std::uint32_t read_deadline(const Node& node, Absent absent) {
  if (!node.present()) return absent == Absent::kWait ? 0 : kDefaultDeadlineMs;
  const auto read = milliseconds(node.text());
  if (!read) node.reject("must be 1ms to 3600s, as \"500ms\" or \"2s\"");
  return read.value_or(0);
}

Absent read_absent(const Node& node) {
  if (!node.present()) return Absent::kErrno;
  const std::string what = node.text();
  if (what == "errno") return Absent::kErrno;
  if (what == "continue") return Absent::kContinue;
  if (what != "wait") node.reject("must be \"errno\", \"continue\" or \"wait\"");
  return Absent::kWait;
}

}  // namespace

std::int64_t read_errno(const Node& node) {
  if (!node.json().is_string()) {
    const std::int64_t number = node.integer();
    if (number >= 1 && number <= kMaxErrno) return number;
    node.reject("must be a name or 1 to 4095");
    return 0;
  }
  const auto number = oci::errno_number(node.text());
  if (!number) node.reject("unknown errno");
  return number.value_or(0);
}

void read_remote(const Node& remote, PolicyRule& rule) {
  rule.action = PolicyRule::Action::kRemote;
  remote.only(kRemoteKeys);
  rule.plugin = read_plugin(remote.required("plugin"));
  rule.remote.absent = read_absent(remote.member("absent"));
  rule.remote.deadline_ms = read_deadline(remote.member("deadline"), rule.remote.absent);
  const Node number = remote.member("errno");
  rule.remote.errno_value = static_cast<std::uint16_t>(number.present() ? read_errno(number) : EIO);
  const Node may_continue = remote.member("may_continue");
  const bool is_absent_continue = rule.remote.absent == Absent::kContinue;
  rule.remote.may_continue = may_continue.boolean(is_absent_continue);
  if (is_absent_continue && !rule.remote.may_continue) {
    may_continue.reject("must be true where an absent plugin means \"continue\"");
  }
}

}  // namespace sidecall::policy
