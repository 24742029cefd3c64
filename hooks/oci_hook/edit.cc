#include "oci_hook/edit.h"

#include <sys/un.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/paths.h"
#include "policy/compile.h"

namespace sidecall::oci_hook {
namespace {

constexpr std::array<std::string_view, 2> kStages = {"createRuntime", "poststop"};
constexpr int kHookTimeoutSeconds = 10;
constexpr std::string_view kNotify = "SCMP_ACT_NOTIFY";

oci::Hook make_hook(std::string_view stage, const Installation& installation) {
  return {.path = installation.hook_path,
          .args = {"sidecall-hook", "--run-dir", installation.run_directory, std::string(stage)},
          .env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
          .timeout_seconds = kHookTimeoutSeconds};
}

bool notifies(const oci::SeccompProfile& profile) {
  return profile.default_action == kNotify ||
         std::any_of(profile.syscalls.begin(), profile.syscalls.end(),
                     [](const oci::SeccompRule& rule) { return rule.action == kNotify; });
}

Result<bool> is_profile_applied(const oci::SeccompProfile& profile, std::string_view policy,
                                const Installation& installation) {
  if (profile.listener_path.empty()) {
    if (!notifies(profile)) return false;
    return failure(
        "linux.seccomp already notifies (SCMP_ACT_NOTIFY) without a listenerPath; take "
        "those rules out of the container's seccomp profile");
  }
  if (profile.listener_path != in_directory(installation.run_directory, kListenerSocket)) {
    return failure("linux.seccomp already has a listener, " + profile.listener_path +
                   ", and the kernel allows one (EBUSY); run the container under one of the two");
  }
  if (profile.listener_metadata != policy) {
    return failure("config.json is already prepared for policy \"" + profile.listener_metadata +
                   "\", but \"" + std::string(policy) + "\" is asked for; undo that edit first");
  }
  return true;
}

}  // namespace

std::string policy_name(const std::map<std::string, std::string>& annotations,
                        std::string_view fallback) {
  const auto found = annotations.find(std::string(kPolicyAnnotation));
  return found == annotations.end() ? std::string(fallback) : found->second;
}

Result<void> set_listener(oci::SeccompProfile& profile, std::string_view policy,
                          std::string_view run_directory) {
  profile.listener_path = in_directory(run_directory, kListenerSocket);
  profile.listener_metadata = policy;
  if (profile.listener_path.size() >= sizeof(sockaddr_un::sun_path)) {
    return failure(profile.listener_path +
                   ": longer than the 107 bytes that a socket's path can have; choose a shorter "
                   "--run-dir");
  }
  return {};
}

Result<bool> is_applied(const oci::Config& config, std::string_view policy,
                        const Installation& installation) {
  auto profile = config.seccomp();
  if (!profile) return pass_on(std::move(profile));
  if (!*profile) return false;
  return is_profile_applied(**profile, policy, installation);
}

Result<std::vector<std::string>> apply(oci::Config& config, const policy::Policy& policy,
                                       const Installation& installation) {
  std::vector<std::string> notes;
  auto base = config.seccomp();
  if (!base) return pass_on(std::move(base));
  if (*base) {
    auto applied = is_profile_applied(**base, policy.name, installation);
    if (!applied) return pass_on(std::move(applied));
    if (*applied) return notes;
  } else {
    notes.emplace_back(
        "config.json has no linux.seccomp: only the policy's own calls are filtered");
  }
  auto compiled = policy::compile_profile(policy, *base ? **base : oci::allow_all_profile());
  if (!compiled) return pass_on(std::move(compiled), "policy \"" + policy.name + "\"");
  auto listening = set_listener(compiled->profile, policy.name, installation.run_directory);
  if (!listening) return pass_on(std::move(listening));

  config.set_seccomp(compiled->profile);
  config.set_annotation(std::string(kPolicyAnnotation), policy.name);
  for (const std::string_view stage : kStages)
    config.add_hook(stage, make_hook(stage, installation));
  std::move(compiled->notes.begin(), compiled->notes.end(), std::back_inserter(notes));
  return notes;
}

Result<void> take_out(oci::Config& config, const oci::Config& original,
                      const Installation& installation) {
  auto profile = config.seccomp();
  if (!profile) return pass_on(std::move(profile));
  // Without our listener, linux.seccomp is somebody's own again.
  if (*profile &&
      (*profile)->listener_path == in_directory(installation.run_directory, kListenerSocket)) {
    const std::string text = original.seccomp_text();
    if (text.empty()) {
      config.remove_seccomp();
    } else if (auto restored = config.set_seccomp_text(text); !restored) {
      return restored;
    }
  }
  for (const std::string_view stage : kStages) config.remove_hooks(stage, installation.hook_path);
  const std::string annotation(kPolicyAnnotation);
  if (!original.annotations().contains(annotation)) config.remove_annotation(annotation);
  return {};
}

}  // namespace sidecall::oci_hook
