// A block device that holds a filesystem: what the cases of mount(2) find as "../image".
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace sidecall::grid {

// An ext4 filesystem, with the node "zero" (c 1:5) in it, on a loop device that goes with this.
class Image {
 public:
  // Makes `directory`/image, the device's node. Where the machine has no loop device or no
  // mkfs.ext4 there is none, and cases skip.
  explicit Image(const std::string& directory);

 private:
  UniqueFd loop_;
};

}  // namespace sidecall::grid
