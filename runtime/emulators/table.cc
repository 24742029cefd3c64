#include "emulators/table.h"

#include <algorithm>
#include <array>

#include "emulators/chown.h"
#include "emulators/clock.h"
#include "emulators/mknod.h"
#include "emulators/mount.h"
#include "emulators/reboot.h"
#include "emulators/sched.h"
#include "emulators/swap.h"
#include "emulators/sysinfo.h"
#include "emulators/umount.h"
#include "emulators/uname.h"
#include "emulators/xattr.h"

namespace sidecall::emulators {

std::span<const Row> table() {
  static const std::array<Row, 11> kRows = {chown_row(),  clock_row(), mknod_row(), mount_row(),
                                            reboot_row(), sched_row(), swap_row(),  sysinfo_row(),
                                            umount_row(), uname_row(), xattr_row()};
  return kRows;
}

const Row* find_row(std::string_view name) {
  const auto rows = table();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace sidecall::emulators
