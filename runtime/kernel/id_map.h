// How the ids of a user namespace are seen from outside it: user_namespaces(7).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sidecall::kernel {

// Of user ids or of group ids. Outside ids are those of the user namespace that read the map.
class IdMap {
 public:
  // The text of /proc/PID/uid_map or gid_map.
  [[nodiscard]] static Result<IdMap> parse(std::string_view text);
  // Of a process in our own user namespace: every id is itself.
  [[nodiscard]] static IdMap identity();

  [[nodiscard]] std::optional<std::uint32_t> outside(std::uint32_t inside) const;
  [[nodiscard]] std::optional<std::uint32_t> inside(std::uint32_t outside) const;
  // The lowest id there is inside: its root, as a rule. Empty for a map without entries.
  [[nodiscard]] std::optional<std::uint32_t> first_inside() const;

 private:
  struct Extent {
    std::uint32_t inside = 0;
    std::uint32_t outside = 0;
    std::uint32_t count = 0;
  };
  std::vector<Extent> extents_;
};

// Both maps of a user namespace.
struct IdMaps {
  IdMap users;
  IdMap groups;
};

}  // namespace sidecall::kernel
