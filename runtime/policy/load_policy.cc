#include <algorithm>

#include "base/file.h"
#include "base/paths.h"
#include "policy/policy.h"

namespace sidecall::policy {
namespace {

constexpr std::size_t kMaxName = 64;
constexpr std::size_t kMaxFile = 1U << 20;
constexpr std::string_view kSuffix = ".json";

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

Result<Policy> load(std::string_view name, const std::string& path) {
  auto text = read_file(path, kMaxFile);
  if (!text) return pass_on(std::move(text));
  auto policy = parse_policy(name, *text);
  if (!policy) return pass_on(std::move(policy), path);
  return policy;
}

// A name that is none may hold anything, and be of any length.
std::string printable(std::string_view name) {
  std::string text(name.substr(0, kMaxName));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~' || c == '"'; }, '?');
  return name.size() > kMaxName ? text + "..." : text;
}

}  // namespace

Result<Policy> load_policy(const std::string& directory, std::string_view name) {
  if (!is_name(name)) {
    return failure("\"" + printable(name) +
                   "\" names no policy: a policy's name is 1 to 64 of A-Z a-z 0-9 . _ - and does "
                   "not start with a dot");
  }
  auto policy = load(name, in_directory(directory, std::string(name) + std::string(kSuffix)));
  if (!policy) return pass_on(std::move(policy), "policy \"" + std::string(name) + "\"");
  return policy;
}

Result<Policy> load_policy_file(const std::string& path) {
  std::string_view name = path;
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return load(name, path);
}

}  // namespace sidecall::policy
