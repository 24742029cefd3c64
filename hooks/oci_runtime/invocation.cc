#include "oci_runtime/invocation.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/paths.h"

namespace sidecall::oci_runtime {
namespace {

// Options with a value, of crun(1) and runc(8): before the command, and of create and run.
constexpr std::array<std::string_view, 7> kGlobal = {
    "cgroup-manager", "criu", "log", "log-format", "log-level", "root", "rootless"};
constexpr std::array<std::string_view, 7> kOfCreate = {
    "b", "bundle", "config", "console-socket", "f", "pid-file", "preserve-fds"};

struct Option {
  std::string_view name;  // without dashes
  std::optional<std::string_view> value;
};

// Reads one option and, where it stands in the next word, its value. Go's flag package, and so
// runc, takes one dash as well as two; getopt, and so crun, "-bDIR".
class Words {
 public:
  explicit Words(std::span<const char* const> words) : words_(words) {}

  [[nodiscard]] bool at_option() const {
    return !words_.empty() && word().size() > 1 && word().front() == '-' && word() != "--";
  }
  [[nodiscard]] std::string_view word() const { return words_.front(); }
  [[nodiscard]] bool is_empty() const { return words_.empty(); }
  void skip() { words_ = words_.subspan(1); }

  template <std::size_t kCount>
  Option take_option(const std::array<std::string_view, kCount>& with_value) {
    std::string_view text = word();
    skip();
    const bool has_two_dashes = text.starts_with("--");
    text.remove_prefix(has_two_dashes ? 2 : 1);
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    const auto takes_value = [&](std::string_view wanted) {
      return std::ranges::find(with_value, wanted) != with_value.end();
    };
    if (takes_value(name)) {
      if (equals != std::string_view::npos) return {name, text.substr(equals + 1)};
      if (words_.empty()) return {name, std::nullopt};
      const auto value = word();
      skip();
      return {name, value};
    }
    const auto letter = text.substr(0, 1);
    if (!has_two_dashes && takes_value(letter)) return {letter, text.substr(1)};
    return {name, std::nullopt};
  }

 private:
  std::span<const char* const> words_;
};

void read_creation(Words& words, Invocation& invocation) {
  while (words.at_option()) {
    const Option option = words.take_option(kOfCreate);
    if (!option.value) continue;
    if (option.name == "bundle" || option.name == "b") invocation.bundle = *option.value;
    if (option.name == "config" || option.name == "f") invocation.config = *option.value;
  }
  if (!words.is_empty()) invocation.container = words.word();
}

}  // namespace

std::string Invocation::config_path() const {
  return config == kConfigFile ? in_directory(bundle, config) : config;
}

Invocation read_invocation(std::span<const char* const> words) {
  Invocation invocation;
  Words rest(words);
  while (rest.at_option()) {
    const Option option = rest.take_option(kGlobal);
    if (!option.value) continue;
    if (option.name == "log") invocation.log = *option.value;
    if (option.name == "log-format" && *option.value == "json") {
      invocation.log_format = Invocation::LogFormat::kJson;
    }
  }
  if (rest.is_empty()) return invocation;
  invocation.creates = rest.word() == "create" || rest.word() == "run";
  rest.skip();
  if (invocation.creates) read_creation(rest, invocation);
  return invocation;
}

}  // namespace sidecall::oci_runtime
