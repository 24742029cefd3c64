// Putting a running sandbox under another policy, from wherever that is asked for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace sidecall::agent {

// One line for each call that the container's filter decides otherwise.
using PolicyAnswer = std::function<void(Result<std::vector<std::string>>)>;
// May be called on any thread, and answers on any, now or later.
using PolicySetter =
    std::function<void(std::string id, policy::Policy policy, PolicyAnswer answer)>;

}  // namespace sidecall::agent
