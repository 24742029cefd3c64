#include "oci/docker_container.h"

#include <array>

#include "oci/json.h"

namespace sidecall::oci {
namespace {

constexpr std::array<std::string_view, 3> kMadeByDocker = {"/etc/hostname", "/etc/hosts",
                                                           "/etc/resolv.conf"};
constexpr std::size_t kMaxRecord = 16U << 20U;

}  // namespace

std::string docker_record_path(const Config& config, std::string_view container_id) {
  for (const std::string_view destination : kMadeByDocker) {
    const std::string source = config.mount_source(destination);
    const auto directory = std::string_view(source).substr(0, source.rfind('/'));
    if (directory.size() < source.size() &&
        directory.substr(directory.rfind('/') + 1) == container_id) {
      return std::string(directory) + "/config.v2.json";
    }
  }
  return {};
}

Result<std::map<std::string, std::string>> docker_labels(std::string_view record) {
  const auto json = parse_json(record, kMaxRecord);
  if (!json) return tl::unexpected<Error>(json.error());
  std::map<std::string, std::string> labels;
  Node::Finding finding;
  const Node root(*json, finding);
  for (const auto& [key, value] : root.required("Config").nullable("Labels").members()) {
    labels.emplace(key, value.text());
  }
  if (finding.found()) return finding.take();
  return labels;
}

}  // namespace sidecall::oci
