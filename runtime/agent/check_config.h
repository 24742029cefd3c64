// sidecalld --check-config.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent/host.h"
#include "base/result.h"

namespace sidecall::agent {

struct ConfigCheck {
  std::size_t policies = 0;             // looked at
  std::vector<std::string> complaints;  // one line for each bad one
};

// Loads every policy of the directory as the agent itself does for a container.
[[nodiscard]] Result<ConfigCheck> check_config(const std::string& policy_directory, Host& host);

}  // namespace sidecall::agent
