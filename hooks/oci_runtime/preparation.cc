#include "oci_runtime/preparation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/paths.h"
#include "oci/config.h"
#include "oci_hook/agent_link.h"
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

bool is_chosen(std::string_view text, const OwnOptions& options) {
  // Most containers of a node are not, and theirs is not worth parsing.
  if (!options.policy && text.find(kPolicyAnnotation) == std::string_view::npos) return false;
  const auto config = oci::Config::parse(text);
  if (!config) return false;
  const auto annotations = config->annotations();
  return !holds_pod(annotations) &&
         (options.policy || annotations.contains(std::string(kPolicyAnnotation)));
}

Result<void> replace(const std::string& path, const std::string& text) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno_failure(path);
  auto replaced = replace_file(path, text, status.st_mode & 07777U);
  if (!replaced) return replaced;
  if (::lchown(path.c_str(), status.st_uid, status.st_gid) != 0) {
    return errno_failure("setting the owner of " + path);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> prepare(const OwnOptions& options, const Invocation& invocation,
                                         const std::string& hook_path) {
  const std::string path = invocation.config_path();
  const auto text = read_file(path, oci_hook::kLongestInput);
  if (!text || !is_chosen(*text, options)) return {};

  oci_hook::Arguments arguments = options.places;
  if (options.policy) arguments.policy = *options.policy;
  const oci_hook::AgentLink agent(arguments.run_directory, {.absence = arguments.wait});
  auto outcome = oci_hook::precreate(arguments, agent, hook_path, *text);
  if (outcome.exit_status != 0)
    return failure(outcome.lines.empty() ? path : outcome.lines.front());
  if (outcome.output != *text) {
    if (auto replaced = replace(path, outcome.output); !replaced) {
      return pass_on(std::move(replaced));
    }
  }
  return std::move(outcome.lines);
}

}  // namespace sidecall::oci_runtime
