#include "oci_runtime/own_options.h"

#include <algorithm>
#include <array>
#include <vector>

namespace sidecall::oci_runtime {
namespace {

constexpr std::string_view kPrefix = "--sidecall-";
constexpr std::array<std::string_view, 6> kWithValue = {"labels",  "policy",  "policy-dir",
                                                        "run-dir", "runtime", "wait"};

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const auto name = list.substr(0, list.find(','));
    if (!name.empty()) names.emplace_back(name);
    list.remove_prefix(std::min(name.size() + 1, list.size()));
  }
  return names;
}

}  // namespace

Result<OwnOptions> read_own_options(std::span<const char* const> words) {
  OwnOptions options;
  // What is the hook's too is read by the hook's own rules.
  std::vector<std::string> places;
  std::string policy;
  for (; options.words < words.size(); ++options.words) {
    const std::string_view word = words[options.words];
    if (!word.starts_with(kPrefix)) break;
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals).substr(kPrefix.size());
    if (name == "help" || name == "version") {
      options.wish = name == "help" ? OwnOptions::Wish::kHelp : OwnOptions::Wish::kVersion;
      continue;
    }
    if (std::ranges::find(kWithValue, name) == kWithValue.end()) {
      return failure("unknown option \"" + std::string(word) + "\"");
    }
    std::string value;
    if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (options.words + 1 < words.size()) {
      value = words[++options.words];
    }
    if (value.empty()) {
      return failure(std::string(kPrefix).append(name).append(" needs a value"));
    }
    if (name == "runtime") {
      options.runtime = std::move(value);
    } else if (name == "policy") {
      options.policy = std::move(value);
    } else if (name == "labels") {
      options.labelled = split(value);
    } else {
      places.push_back(std::string("--").append(name).append("=").append(value));
    }
  }
  places.emplace_back("precreate");
  std::vector<const char*> arguments;
  arguments.reserve(places.size());
  for (const std::string& place : places) arguments.push_back(place.c_str());
  auto parsed = oci_hook::parse_arguments(arguments);
  if (!parsed) return pass_on(std::move(parsed));
  options.places = *std::move(parsed);
  return options;
}

}  // namespace sidecall::oci_runtime
