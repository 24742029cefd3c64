// Typed options of an emulator, free of any file format.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace sidecall::emulators {

using OptionValue = std::variant<bool, std::int64_t, std::string, std::vector<std::string>>;
// Indices are those of OptionValue's alternatives.
enum class OptionType : std::uint8_t { kBool, kInteger, kString, kStringList };

// A row's declaration of one option. The policy reader refuses every other name and type.
struct OptionSpec {
  std::string_view name;
  OptionType type{};
  bool required = false;
  std::string_view summary;  // one line for documentation; says the default
};

using Options = std::map<std::string, OptionValue, std::less<>>;

// The value, or `fallback` where the option is absent. Type mismatch cannot occur after the policy
// reader's check; here it gives the fallback.
template <typename T>
[[nodiscard]] T option_or(const Options& options, std::string_view name, T fallback) {
  const auto found = options.find(name);
  if (found == options.end()) return fallback;
  const T* value = std::get_if<T>(&found->second);
  return value != nullptr ? *value : fallback;
}

}  // namespace sidecall::emulators
