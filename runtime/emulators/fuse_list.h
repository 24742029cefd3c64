// Which programs serve filesystems in the kernel's place: "ext4: fuse2fs", "squashfs: squashfuse -o
// ...".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "emulators/filesystem_list.h"

namespace sidecall::emulators {

// By type, the program and arguments of its own.
class FuseList {
 public:
  // Each entry is a type, a colon, and a program with its arguments, separated by spaces. The type
  // must be one of a device's that `filesystems` lists, with its options by name: they are handed
  // to the program, and nobody knows all that it takes. The error names the entry and what is wrong
  // with it.
  [[nodiscard]] static Result<FuseList> parse(const std::vector<std::string>& entries,
                                              const FilesystemList& filesystems);

  // Null where the kernel serves the type.
  [[nodiscard]] const std::vector<std::string>* command(std::string_view type) const;
  [[nodiscard]] bool empty() const { return commands_.empty(); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> commands_;
};

}  // namespace sidecall::emulators
