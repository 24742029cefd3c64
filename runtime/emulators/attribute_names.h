// An allow-list of extended attributes: "trusted.overlay.*", "security.ima".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sidecall::emulators {

class AttributeNames {
 public:
  // Of the classes that the kernel keeps for the host's root: trusted and security. The error names
  // the entry and what is wrong with it.
  [[nodiscard]] static Result<AttributeNames> parse(const std::vector<std::string>& entries);

  // Never of security.capability, listed or not: root of a container sets it by its own right, and
  // the kernel then stores for which user namespace it counts.
  [[nodiscard]] bool allows(std::string_view name) const;

 private:
  struct Entry {
    std::string text;
    bool prefix = false;  // what `text` begins
  };
  std::vector<Entry> entries_;
};

}  // namespace sidecall::emulators
