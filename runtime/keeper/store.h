// Descriptors under labels.
#pragma once

#include <cstdint>
#include <vector>

#include "base/unique_fd.h"
#include "keeper/protocol.h"

namespace sidecall::keeper {

struct Kept {
  Label label;
  UniqueFd fd;
};

class Store {
 public:
  // What had the label is closed.
  void put(const Label& label, UniqueFd fd);
  void drop(const Label& label);
  void forget(std::uint64_t sandbox);

  // Forgets every sandbox that has listeners, none of which has a user any more.
  void forget_deserted();
  // Whether anything of a sandbox is kept.
  [[nodiscard]] bool has_sandboxes() const;

  [[nodiscard]] const std::vector<Kept>& items() const { return items_; }

 private:
  std::vector<Kept> items_;  // in the order of arrival
};

}  // namespace sidecall::keeper
