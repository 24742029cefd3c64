#include "oci_hook/arguments.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace sidecall::oci_hook {
namespace {

std::optional<Action> find_action(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, Action>, 5> kWords = {{
      {"precreate", Action::kPrecreate},
      {"createRuntime", Action::kCreateRuntime},
      {"poststop", Action::kPoststop},
      {"--help", Action::kHelp},
      {"--version", Action::kVersion},
  }};
  for (const auto& [name, action] : kWords) {
    if (word == name) return action;
  }
  return std::nullopt;
}

Result<std::chrono::milliseconds> read_wait(const std::string& text) {
  unsigned number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || number > kLongestWait.count()) {
    return failure("--wait needs a number of milliseconds, at most " +
                   std::to_string(kLongestWait.count()));
  }
  return std::chrono::milliseconds(number);
}

// An engine runs its hooks from directories of its own choice.
Result<std::string> absolute(const std::string& path) {
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error);
  if (error) return failure(path + ": " + error.message());
  return full.lexically_normal().string();
}

}  // namespace

Result<Arguments> parse_arguments(std::span<const char* const> arguments) {
  Arguments parsed;
  bool has_action = false;
  std::string wait;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const std::string_view name = word.substr(0, word.find('='));
    std::string* value = name == "--run-dir"      ? &parsed.run_directory
                         : name == "--policy-dir" ? &parsed.policy_directory
                         : name == "--policy"     ? &parsed.policy
                         : name == "--wait"       ? &wait
                                                  : nullptr;
    if (value != nullptr) {
      if (name.size() < word.size()) {
        *value = word.substr(name.size() + 1);
      } else if (++i < arguments.size()) {
        *value = arguments[i];
      } else {
        value->clear();
      }
      if (value->empty()) return failure(std::string(name) + " needs a value");
    } else if (const auto action = find_action(word); !action) {
      return failure("unknown argument \"" + std::string(word) + "\"");
    } else if (std::exchange(has_action, true)) {
      return failure("more than one stage");
    } else {
      parsed.action = *action;
    }
  }
  if (!has_action) return failure("no stage; it is one of precreate, createRuntime, poststop");
  if (!wait.empty()) {
    const auto milliseconds = read_wait(wait);
    if (!milliseconds) return tl::unexpected<Error>(milliseconds.error());
    parsed.wait = *milliseconds;
  }
  for (std::string* directory : {&parsed.run_directory, &parsed.policy_directory}) {
    auto full = absolute(*directory);
    if (!full) return pass_on(std::move(full));
    *directory = *std::move(full);
  }
  return parsed;
}

}  // namespace sidecall::oci_hook
