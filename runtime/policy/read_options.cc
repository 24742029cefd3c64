#include "policy/read_options.h"

#include <vector>

namespace sidecall::policy {
namespace {

using emulators::OptionSpec;
using emulators::OptionType;
using emulators::OptionValue;

OptionValue read_value(const oci::Node& node, OptionType type) {
  switch (type) {
    case OptionType::kBool:
      return node.boolean();
    case OptionType::kInteger:
      return node.integer();
    case OptionType::kString:
      return node.text();
    case OptionType::kStringList:
      return node.texts();
  }
  return false;
}

}  // namespace

emulators::Options read_options(const oci::Node& rule, const emulators::Row& row) {
  const oci::Node node = rule.member("options");
  std::vector<std::string_view> names;
  for (const OptionSpec& spec : row.options) names.push_back(spec.name);
  node.only(names);

  emulators::Options options;
  for (const OptionSpec& spec : row.options) {
    const oci::Node value = node.member(spec.name);
    if (value.present()) {
      options.emplace(spec.name, read_value(value, spec.type));
    } else if (spec.required) {
      value.reject("missing: emulator \"" + std::string(row.name) + "\" needs it");
    }
  }
  if (const auto made = row.make(options); !made) node.reject(made.error().message);
  return options;
}

}  // namespace sidecall::policy
