#include <algorithm>
#include <filesystem>

#include "cli/checks.h"
#include "cli/policy_argument.h"

namespace sidecall::cli {
namespace {

using enum Check::State;

Result<void> try_policy(const std::string& path) {
  auto policy = policy::load_policy_file(path);
  if (!policy) return pass_on(std::move(policy));
  if (auto program = policy::compile_program(*policy); !program) return pass_on(std::move(program));
  auto compiled = compile_over(*policy, oci::allow_all_profile());
  if (!compiled) return pass_on(std::move(compiled));
  return {};
}

}  // namespace

std::vector<Check> check_policies(const Context& context) {
  const std::string& directory = context.policy_directory;
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json") paths.push_back(entry->path());
  }
  if (error) {
    return {{.state = kAdvice,
             .name = "policies",
             .detail = directory + ": " + error.message() +
                       "; put policies there as NAME.json, or give --policy-dir"}};
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Check> checks;
  bool has_default = false;
  for (const auto& path : paths) {
    has_default = has_default || path.stem() == kDefaultPolicy;
    auto tried = try_policy(path);
    checks.push_back({.state = tried ? kGood : kMissing,
                      .name = "policy " + path.stem().string(),
                      .detail = tried ? "valid" : tried.error().message});
  }
  if (!has_default) {
    checks.push_back({.state = kAdvice,
                      .name = "policy default",
                      .detail = "not in " + directory +
                                ": containers that name no policy do not start; add default.json"});
  }
  return checks;
}

}  // namespace sidecall::cli
