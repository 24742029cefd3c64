#include "agent/check_config.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sidecall::agent {

Result<ConfigCheck> check_config(const std::string& policy_directory, Host& host) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::directory_iterator entry(policy_directory, error);
  std::vector<std::string> names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".json") names.push_back(entry->path().stem());
  }
  if (error) return failure("policy directory " + policy_directory + ": " + error.message());
  std::sort(names.begin(), names.end());
  ConfigCheck check{.policies = names.size(), .complaints = {}};
  for (const std::string& name : names) {
    if (auto program = host.load_program(name); !program) {
      check.complaints.push_back(std::move(program).error().message);
    }
  }
  return check;
}

}  // namespace sidecall::agent
