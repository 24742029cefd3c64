// A worker that has been taken over: any bytes to the helper, and any step to every emulator's
// privileged halves, the one that makes and the one that starts programs.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "emulators/step.h"
#include "fuzz/rows.h"
#include "support/fake_actor.h"

namespace {

// Whether of vfat's options there is none but "ro", as far as its "=". Nameless ones are nothing.
bool are_listed(std::string_view options) {
  while (!options.empty()) {
    const auto option = options.substr(0, options.find(','));
    const auto name = option.substr(0, option.find('='));
    if (!name.empty() && name != "ro") return false;
    options.remove_prefix(std::min(option.size() + 1, options.size()));
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  static const std::vector<fuzz::Built> kRows = fuzz::build_rows();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(emulators::decode_result(bytes, {}));
  std::vector<UniqueFd> fds;
  if (size % 2 == 0) fds.push_back(support::named_fd("given"));
  const auto decoded = emulators::decode_step(bytes, std::move(fds));
  if (!decoded) return 0;
  if (emulators::encode(decoded->instance, decoded->step) != bytes) std::abort();
  support::FakeHost host;
  const fuzz::Built& built = kRows[decoded->instance % kRows.size()];
  static_cast<void>(built.emulator->perform(decoded->step, host));
  support::FakePrograms programs;
  static_cast<void>(built.emulator->launch(decoded->step, programs));
  // Whatever was asked: what the policy of rows.h does not list is not made.
  for (const auto& node : host.made) {
    if (!S_ISCHR(node.mode) && !S_ISBLK(node.mode)) std::abort();
    const unsigned major = gnu_dev_major(node.device);
    const bool is_of_mount = S_ISBLK(node.mode) && major == 0 && built.row->name == "mount";
    if (major != (S_ISCHR(node.mode) ? 1U : 7U) && !is_of_mount) std::abort();
  }
  for (const auto& mount : host.aside) {
    if (mount.type != "ext4" || (mount.flags & MS_NODEV) == 0) std::abort();
  }
  for (const auto& program : programs.started) {
    if (program.command[0] != "fusefat" || !are_listed(program.options)) std::abort();
  }
  for (const auto& [thread, schedule] : host.scheduled) {
    const bool real_time = schedule.policy == SCHED_FIFO || schedule.policy == SCHED_RR;
    if (real_time && schedule.priority > 50) std::abort();
  }
  return 0;
}
