// What sysinfo(2) says in a sandbox, computed from what it says on the host.
#pragma once

#include <sys/sysinfo.h>

#include <array>
#include <cstdint>

#include "emulators/sandbox.h"

namespace sidecall::emulators {

// struct compat_sysinfo of the kernel: what a 32-bit caller passes.
struct Sysinfo32 {
  std::int32_t uptime;
  std::array<std::uint32_t, 3> loads;
  std::uint32_t totalram, freeram, sharedram, bufferram, totalswap, freeswap;
  std::uint16_t procs, pad;
  std::uint32_t totalhigh, freehigh, mem_unit;
  std::array<char, 8> f;
};
static_assert(sizeof(Sysinfo32) == 64);
static_assert(sizeof(struct sysinfo) == 112);

// Replaces the host's figures by the sandbox's. A limit above the host's total is none.
void apply_limits(struct sysinfo& info, const Resources& resources);

// As the kernel narrows it: where a total does not fit into 32 bits, all are counted in larger
// units, up to a page.
[[nodiscard]] Sysinfo32 narrow(const struct sysinfo& info);

}  // namespace sidecall::emulators
