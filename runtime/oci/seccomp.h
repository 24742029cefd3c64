// linux.seccomp of the OCI runtime specification, and the engines' default-profile form of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "emulators/conditions.h"

namespace sidecall::oci {

struct SeccompRule {
  std::vector<std::string> names;
  std::string action;  // SCMP_ACT_*
  std::optional<std::uint32_t> errno_ret;
  emulators::Conditions args;
};

// Plain OCI form. https://github.com/opencontainers/runtime-spec/blob/main/config-linux.md#seccomp
struct SeccompProfile {
  std::string default_action;
  std::optional<std::uint32_t> default_errno_ret;
  std::vector<std::string> architectures;  // SCMP_ARCH_*
  std::vector<std::string> flags;
  std::string listener_path;
  std::string listener_metadata;
  std::vector<SeccompRule> syscalls;
};

// What includes and excludes of a default profile are resolved against.
struct ProfileContext {
  std::vector<std::string> capabilities;  // CAP_*, of the container
  std::string architecture = "amd64";     // Go's name
  unsigned kernel_major = 0;
  unsigned kernel_minor = 0;
};

// Reads either form: plain OCI, or that of containers-common and moby (archMap, includes, excludes,
// minKernel), resolved as those engines do. Errors name the JSON path.
[[nodiscard]] Result<SeccompProfile> parse_profile(std::string_view json,
                                                   const ProfileContext& context);

// Plain OCI form, pretty-printed with two spaces and a final newline.
[[nodiscard]] std::string print_profile(const SeccompProfile& profile);

// A profile that allows everything on the native architecture and its 32-bit sibling: the base
// where a container has none.
[[nodiscard]] SeccompProfile allow_all_profile();

}  // namespace sidecall::oci
