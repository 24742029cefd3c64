// Putting a bundle's config.json under sidecall, in place, and taking it out again to the byte.
//
// Beside an edited config.json stands config.json.sidecall: what was edited in, and the file as it
// was. It is written before config.json and removed after it, so that a crash in between leaves
// something to undo.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "oci_hook/edit.h"

namespace sidecall::cli {

struct BundleRequest {
  std::string directory;
  oci_hook::Installation installation;
  std::string policy_directory;
  std::optional<std::string> policy;  // else the config's annotation, else "default"
};

// Edits config.json, keeping its mode and owner. A bundle that is edited already is edited anew
// from what it was before. Returns notes, one line each.
[[nodiscard]] Result<std::vector<std::string>> add_to_bundle(const BundleRequest& request);

// Gives config.json the bytes that it had. Where it was edited by hand meanwhile, that stays and
// only our own edit is taken out.
[[nodiscard]] Result<void> remove_from_bundle(const std::string& directory);

}  // namespace sidecall::cli
