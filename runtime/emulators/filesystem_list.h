// An allow-list of filesystem types and their options: "tmpfs: size,mode", "ext4", "overlay: *",
// "nfs4: addr=192.0.2.1,vers".
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sidecall::emulators {

class FilesystemList {
 public:
  // Who may make one, by the kernel's rules.
  enum class Kind : std::uint8_t {
    kContainer,  // root of a user namespace may (FS_USERNS_MOUNT)
    kDevice,     // of a block device: the host's root alone
    kNetwork,    // of a server: likewise
  };
  struct Entry {
    std::string type;
    Kind kind{};
    bool any_option = false;
    std::set<std::string, std::less<>> options;  // "size"; of addresses, "addr=192.0.2.1"

    // Whether each option of mount(2)'s data, as far as its "=", is listed. An address of a server
    // must be listed itself, and there must be one: the kernel would take it from the source.
    [[nodiscard]] bool allows(std::string_view data) const;

   private:
    friend FilesystemList;
    [[nodiscard]] bool has_address() const;
    [[nodiscard]] bool allows_of_server(std::string_view data) const;
  };

  // The error names the entry and what is wrong with it.
  [[nodiscard]] static Result<FilesystemList> parse(const std::vector<std::string>& entries);
  // Null where the type is not listed.
  [[nodiscard]] const Entry* find(std::string_view type) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace sidecall::emulators
