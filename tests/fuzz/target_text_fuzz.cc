// What the kernel says of a target, and lists that people write.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "emulators/device_list.h"
#include "kernel/memory_map.h"
#include "kernel/thread_directory.h"
#include "placement/cgroup.h"
#include "placement/cpu_set.h"
#include "worker/cgroup_sandbox.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(kernel::parse_status(text));
  static_cast<void>(kernel::check_writable_in(text, size * 4096, size));
  static_cast<void>(worker::parse_start_ticks(text));
  static_cast<void>(emulators::DeviceList::parse({std::string(text)}));
  const auto half = text.size() / 2;
  static_cast<void>(placement::find_cgroup_in(text.substr(0, half), text.substr(half), "memory"));
  if (const auto cpus = placement::CpuSet::parse(text)) {
    const auto again = placement::CpuSet::parse(cpus->list());
    if (!again || !(*again == *cpus)) __builtin_trap();
  }
  return 0;
}
