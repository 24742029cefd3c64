// An allow-list of device nodes: "c 1:3", "b 7:*".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sidecall::emulators {

class DeviceList {
 public:
  // Each entry is a type (c or b), a space, a major number, a colon, and a minor number or "*".
  // The error names the entry and what is wrong with it.
  [[nodiscard]] static Result<DeviceList> parse(const std::vector<std::string>& entries);

  // `mode` has S_IFCHR or S_IFBLK among its bits.
  [[nodiscard]] bool allows(mode_t mode, std::uint32_t major, std::uint32_t minor) const;

 private:
  struct Entry {
    mode_t type = 0;
    std::uint32_t major = 0;
    std::optional<std::uint32_t> minor;  // empty: all of them
  };
  static std::optional<Entry> parse_entry(std::string_view text);
  std::vector<Entry> entries_;
};

}  // namespace sidecall::emulators
