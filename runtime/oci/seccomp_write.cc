#include <algorithm>
#include <array>

#include "oci/seccomp.h"
#include "oci/seccomp_json.h"

namespace sidecall::oci {
namespace {

constexpr std::array<std::string_view, 7> kProfileKeys = {
    "defaultAction", "defaultErrnoRet",  "architectures", "flags",
    "listenerPath",  "listenerMetadata", "syscalls"};

Json rule_json(const SeccompRule& rule) {
  Json json = {{"names", rule.names}, {"action", rule.action}};
  if (rule.errno_ret) json["errnoRet"] = *rule.errno_ret;
  for (const emulators::Condition& condition : rule.args) {
    json["args"].push_back({{"index", condition.index},
                            {"value", condition.value},
                            {"valueTwo", condition.value_two},
                            {"op", compare_name(condition.op)}});
  }
  return json;
}

}  // namespace

Json profile_json(const SeccompProfile& profile) {
  Json json = {{"defaultAction", profile.default_action}};
  if (profile.default_errno_ret) json["defaultErrnoRet"] = *profile.default_errno_ret;
  if (!profile.architectures.empty()) json["architectures"] = profile.architectures;
  if (!profile.flags.empty()) json["flags"] = profile.flags;
  if (!profile.listener_path.empty()) json["listenerPath"] = profile.listener_path;
  if (!profile.listener_metadata.empty()) json["listenerMetadata"] = profile.listener_metadata;
  for (const SeccompRule& rule : profile.syscalls) json["syscalls"].push_back(rule_json(rule));
  return json;
}

bool is_profile_key(std::string_view key) {
  return std::find(kProfileKeys.begin(), kProfileKeys.end(), key) != kProfileKeys.end();
}

std::string print_profile(const SeccompProfile& profile) {
  return profile_json(profile).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

SeccompProfile allow_all_profile() {
  SeccompProfile profile;
  profile.default_action = "SCMP_ACT_ALLOW";
#if defined(__x86_64__)
  profile.architectures = {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86"};
#elif defined(__aarch64__)
  profile.architectures = {"SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"};
#else
#error "sidecall decodes the calls of x86_64 and aarch64 hosts only"
#endif
  return profile;
}

}  // namespace sidecall::oci
