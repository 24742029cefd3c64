// What dockerd writes down of a container of its own, which an OCI runtime is not told.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "oci/config.h"

namespace sidecall::oci {

// The container's config.v2.json: it stands beside the files that dockerd mounts on /etc/hostname,
// /etc/hosts and /etc/resolv.conf, in a directory of the container's id. "" where none of these is
// mounted from such a directory: the container is not docker's.
[[nodiscard]] std::string docker_record_path(const Config& config, std::string_view container_id);

// Labels of the container, its image's among them. `record` is the text of config.v2.json.
[[nodiscard]] Result<std::map<std::string, std::string>> docker_labels(std::string_view record);

}  // namespace sidecall::oci
