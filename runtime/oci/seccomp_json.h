// linux.seccomp as JSON, for oci/ and policy/ only: no public header includes this one.
#pragma once

#include <optional>
#include <string_view>

#include "emulators/conditions.h"
#include "oci/json.h"
#include "oci/seccomp.h"

namespace sidecall::oci {

// Either form of a profile; what is wrong with it goes to the node's finding.
[[nodiscard]] SeccompProfile read_profile(const Node& node, const ProfileContext& context);
[[nodiscard]] Json profile_json(const SeccompProfile& profile);
// Whether profile_json() speaks of this member.
[[nodiscard]] bool is_profile_key(std::string_view key);

// One entry of a rule's `args`.
[[nodiscard]] emulators::Condition read_condition(const Node& node);
// "SCMP_CMP_EQ"
[[nodiscard]] std::string_view compare_name(emulators::Compare compare);

// 1 for "EPERM"; empty for what this system has no number for.
[[nodiscard]] std::optional<std::uint32_t> errno_number(std::string_view name);

}  // namespace sidecall::oci
