#include "emulators/table.h"

#include <algorithm>
#include <array>

#include "emulators/mknod.h"
#include "emulators/sysinfo.h"
#include "emulators/uname.h"

namespace sidecall::emulators {

std::span<const Row> table() {
  static const std::array<Row, 3> kRows = {mknod_row(), sysinfo_row(), uname_row()};
  return kRows;
}

const Row* find_row(std::string_view name) {
  const auto rows = table();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace sidecall::emulators
