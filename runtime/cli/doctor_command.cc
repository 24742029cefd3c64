// sidecall doctor: what this host can do, and what to do about the rest.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "cli/checks.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/json_writer.h"

namespace sidecall::cli {
namespace {

struct StateWords {
  std::string_view mark;
  std::string_view word;
};

StateWords words_of(Check::State state) {
  static constexpr std::array<StateWords, 3> kWords = {
      StateWords{"✓", "good"}, StateWords{"!", "advice"}, StateWords{"✗", "missing"}};
  return kWords[static_cast<std::size_t>(state)];
}

std::vector<Check> all_checks(const Context& context) {
  std::vector<Check> checks;
  for (auto group : {check_kernel(), check_cgroups(), check_engines(), check_agent(context),
                     check_policies(context)}) {
    std::move(group.begin(), group.end(), std::back_inserter(checks));
  }
  return checks;
}

std::string as_json(const std::vector<Check>& checks) {
  JsonWriter json;
  json.open_array();
  for (const Check& check : checks) {
    json.open_object();
    for (const auto& [key, value] :
         {std::pair<std::string_view, std::string_view>{"name", check.name},
          {"state", words_of(check.state).word},
          {"detail", check.detail}}) {
      json.key(key);
      json.string(value);
    }
    json.close();
  }
  json.close();
  return json.take();
}

int doctor(bool wants_json, const Context& context) {
  const auto checks = all_checks(context);
  if (wants_json) print(as_json(checks));
  for (const Check& check : checks) {
    if (wants_json) break;
    print(fmt::format("{} {}: {}\n", words_of(check.state).mark, check.name, check.detail));
  }
  return std::any_of(checks.begin(), checks.end(),
                     [](const Check& check) { return check.state == Check::State::kMissing; })
             ? kFailed
             : 0;
}

}  // namespace

void add_doctor(CommandLine& line, const Context& context) {
  const auto wants_json = std::make_shared<bool>(false);
  line.command("doctor", "Check kernel, engines, agent and policies")
      .flag("--json", *wants_json, "JSON")
      .footer("Exits with 1 where something required is missing.\nExample: sidecall doctor")
      .action([&context, wants_json] { return doctor(*wants_json, context); });
}

}  // namespace sidecall::cli
