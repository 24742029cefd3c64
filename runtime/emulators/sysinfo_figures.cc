#include "emulators/sysinfo_figures.h"

#include <algorithm>
#include <limits>

namespace sidecall::emulators {
namespace {

std::uint64_t left(std::uint64_t total, std::uint64_t used) {
  return total > used ? total - used : 0;
}

}  // namespace

void apply_limits(struct sysinfo& info, const Resources& resources) {
  info.uptime = static_cast<long>(resources.uptime_seconds);
  if (resources.processes) {
    info.procs = static_cast<unsigned short>(
        std::min<std::uint64_t>(*resources.processes, std::numeric_limits<unsigned short>::max()));
  }
  if (resources.memory_limit && *resources.memory_limit < info.totalram) {
    info.totalram = *resources.memory_limit;
    info.freeram =
        std::min<std::uint64_t>(info.freeram, left(info.totalram, resources.memory_used));
    // Not accounted to a sandbox in these terms, and the host's may exceed the total.
    info.sharedram = 0;
    info.bufferram = 0;
  }
  if (resources.swap_limit && *resources.swap_limit < info.totalswap) {
    info.totalswap = *resources.swap_limit;
    info.freeswap =
        std::min<std::uint64_t>(info.freeswap, left(info.totalswap, resources.swap_used));
  }
}

Sysinfo32 narrow(const struct sysinfo& info) {
  unsigned shift = 0;
  std::uint32_t unit = info.mem_unit;
  if (info.totalram >> 32U != 0 || info.totalswap >> 32U != 0) {
    constexpr std::uint32_t kPage = 4096;
    for (; unit < kPage; unit <<= 1U) ++shift;
  }
  const auto scaled = [shift](unsigned long bytes) {
    return static_cast<std::uint32_t>(bytes >> shift);
  };
  return Sysinfo32{
      .uptime = static_cast<std::int32_t>(info.uptime),
      .loads = {static_cast<std::uint32_t>(info.loads[0]),
                static_cast<std::uint32_t>(info.loads[1]),
                static_cast<std::uint32_t>(info.loads[2])},
      .totalram = scaled(info.totalram),
      .freeram = scaled(info.freeram),
      .sharedram = scaled(info.sharedram),
      .bufferram = scaled(info.bufferram),
      .totalswap = scaled(info.totalswap),
      .freeswap = scaled(info.freeswap),
      .procs = info.procs,
      .pad = 0,
      .totalhigh = scaled(info.totalhigh),
      .freehigh = scaled(info.freehigh),
      .mem_unit = unit,
      .f = {},
  };
}

}  // namespace sidecall::emulators
