#include "oci_runtime/preparation.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/paths.h"
#include "oci/config.h"
#include "oci/docker_container.h"
#include "oci_hook/agent_link.h"
#include "oci_hook/config_file.h"
#include "oci_hook/stages.h"

namespace sidecall::oci_runtime {
namespace {

// What containerd and CRI-O write on the container that holds a pod's namespaces ("pause").
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kHoldsPod = {{
    {"io.kubernetes.cri.container-type", "sandbox"},
    {"io.kubernetes.cri-o.ContainerType", "sandbox"},
}};

bool holds_pod(const std::map<std::string, std::string>& annotations) {
  for (const auto& [key, value] : kHoldsPod) {
    const auto found = annotations.find(std::string(key));
    if (found != annotations.end() && found->second == value) return true;
  }
  return false;
}

// The policy that a label of docker's names; "" where there is no such label.
Result<std::string> labelled_policy(const oci::Config& config, const OwnOptions& options,
                                    const Invocation& invocation) {
  const std::string path = oci::docker_record_path(config, invocation.container);
  if (path.empty()) return std::string();
  const auto record = read_file(path, oci_hook::kLongestInput);
  if (!record) return tl::unexpected<Error>(record.error());
  auto labels = oci::docker_labels(*record);
  if (!labels) return pass_on(std::move(labels), path);
  const auto found = labels->find(std::string(kPolicyAnnotation));
  if (found == labels->end()) return std::string();
  if (std::ranges::find(options.labelled, found->second) == options.labelled.end()) {
    return failure(
        "the label " + found->first + " names policy \"" + found->second +
        "\", which --sidecall-labels does not list: the container, or its image, asks for "
        "what this runtime does not give by label");
  }
  return found->second;
}

// The policy of a container that is to be edited; "" for one that stays as it is.
Result<std::string> choose(std::string_view text, const OwnOptions& options,
                           const Invocation& invocation) {
  // Most containers of a node are not chosen, and theirs is not worth parsing.
  const bool may_be = options.policy || !options.labelled.empty() ||
                      text.find(kPolicyAnnotation) != std::string_view::npos;
  const auto config = may_be ? oci::Config::parse(text) : failure("");
  if (!config) return std::string();
  const auto annotations = config->annotations();
  if (holds_pod(annotations)) return std::string();
  const auto found = annotations.find(std::string(kPolicyAnnotation));
  if (found != annotations.end()) return found->second;
  if (!options.labelled.empty()) {
    auto labelled = labelled_policy(*config, options, invocation);
    if (!labelled || !labelled->empty()) return labelled;
  }
  return options.policy.value_or("");
}

}  // namespace

Result<std::vector<std::string>> prepare(const OwnOptions& options, const Invocation& invocation,
                                         const std::string& hook_path) {
  const std::string path = invocation.config_path();
  const auto text = read_file(path, oci_hook::kLongestInput);
  if (!text) return {};
  auto policy = choose(*text, options, invocation);
  if (!policy) return pass_on(std::move(policy));
  if (policy->empty()) return {};

  oci_hook::Arguments arguments = options.places;
  arguments.policy = *std::move(policy);
  const oci_hook::AgentLink agent(arguments.run_directory, {.absence = arguments.wait});
  auto outcome = oci_hook::precreate(arguments, agent, hook_path, *text);
  if (outcome.exit_status != 0)
    return failure(outcome.lines.empty() ? path : outcome.lines.front());
  if (outcome.output != *text) {
    if (auto replaced = oci_hook::replace_config_file(path, outcome.output); !replaced) {
      return pass_on(std::move(replaced));
    }
  }
  return std::move(outcome.lines);
}

}  // namespace sidecall::oci_runtime
