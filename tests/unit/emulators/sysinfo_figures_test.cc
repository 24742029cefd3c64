#include "emulators/sysinfo_figures.h"

#include <gtest/gtest.h>

namespace sidecall::emulators {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kGiB = 1U << 30U;

// A host with 2 GiB of memory, half of it free, and 1 GiB of swap, all of it free.
struct sysinfo host() {
  struct sysinfo info {};
  info.uptime = 1'000'000;
  info.loads[0] = 65536;
  info.loads[2] = 3;
  info.totalram = 2 * kGiB;
  info.freeram = kGiB;
  info.sharedram = 3 * kMiB;
  info.bufferram = 4 * kMiB;
  info.totalswap = kGiB;
  info.freeswap = kGiB;
  info.procs = 500;
  info.mem_unit = 1;
  return info;
}

TEST(ApplyLimits, AMemoryLimitBoundsWhatIsThereAndWhatIsFree) {
  struct sysinfo info = host();
  Resources resources;
  resources.memory_limit = 64 * kMiB;
  resources.memory_used = 48 * kMiB;
  apply_limits(info, resources);
  EXPECT_EQ(info.totalram, 64 * kMiB);
  EXPECT_EQ(info.freeram, 16 * kMiB);
  EXPECT_EQ(info.sharedram, 0U);
  EXPECT_EQ(info.bufferram, 0U);
  EXPECT_EQ(info.totalswap, kGiB);
}

TEST(ApplyLimits, FreeMemoryIsNeitherNegativeNorMoreThanTheHosts) {
  struct sysinfo info = host();
  Resources resources;
  resources.memory_limit = 64 * kMiB;
  resources.memory_used = 65 * kMiB;
  apply_limits(info, resources);
  EXPECT_EQ(info.freeram, 0U);

  info = host();
  resources.memory_limit = 2 * kGiB - 1;
  resources.memory_used = 0;
  apply_limits(info, resources);
  EXPECT_EQ(info.totalram, 2 * kGiB - 1);
  EXPECT_EQ(info.freeram, kGiB);
}

TEST(ApplyLimits, ALimitThatTheHostCannotReachIsNone) {
  for (const std::uint64_t limit : {2 * kGiB, ~std::uint64_t{0}}) {
    struct sysinfo info = host();
    Resources resources;
    resources.memory_limit = limit;
    resources.memory_used = limit;
    resources.swap_limit = limit;
    resources.swap_used = limit;
    apply_limits(info, resources);
    EXPECT_EQ(info.totalram, 2 * kGiB);
    EXPECT_EQ(info.freeram, kGiB);
    EXPECT_EQ(info.sharedram, 3 * kMiB);
    EXPECT_EQ(info.totalswap, kGiB);
    EXPECT_EQ(info.freeswap, kGiB);
  }
}

TEST(ApplyLimits, ASwapLimitBoundsSwapAlone) {
  struct sysinfo info = host();
  Resources resources;
  resources.swap_limit = 10 * kMiB;
  resources.swap_used = 4 * kMiB;
  apply_limits(info, resources);
  EXPECT_EQ(info.totalswap, 10 * kMiB);
  EXPECT_EQ(info.freeswap, 6 * kMiB);
  EXPECT_EQ(info.totalram, 2 * kGiB);

  resources.swap_limit = 0;
  apply_limits(info, resources);
  EXPECT_EQ(info.totalswap, 0U);
  EXPECT_EQ(info.freeswap, 0U);
}

TEST(ApplyLimits, UptimeAndProcessesAreTheSandboxs) {
  struct sysinfo info = host();
  Resources resources;
  resources.uptime_seconds = 34;
  apply_limits(info, resources);
  EXPECT_EQ(info.uptime, 34);
  EXPECT_EQ(info.procs, 500) << "a count that is not known stays the host's";
  resources.processes = 65535;
  apply_limits(info, resources);
  EXPECT_EQ(info.procs, 65535);
  resources.processes = 65537;
  apply_limits(info, resources);
  EXPECT_EQ(info.procs, 65535) << "what does not fit is the largest that does";
}

TEST(Narrow, WhatFitsInto32BitsStaysInBytes) {
  struct sysinfo info = host();
  info.totalram = 0xffff'ffff;
  info.totalhigh = 5;
  info.freehigh = 6;
  const Sysinfo32 narrowed = narrow(info);
  EXPECT_EQ(narrowed.mem_unit, 1U);
  EXPECT_EQ(narrowed.totalram, 0xffff'ffffU);
  EXPECT_EQ(narrowed.freeram, kGiB);
  EXPECT_EQ(narrowed.sharedram, 3 * kMiB);
  EXPECT_EQ(narrowed.bufferram, 4 * kMiB);
  EXPECT_EQ(narrowed.totalswap, kGiB);
  EXPECT_EQ(narrowed.uptime, 1'000'000);
  EXPECT_EQ(narrowed.loads[0], 65536U);
  EXPECT_EQ(narrowed.loads[2], 3U);
  EXPECT_EQ(narrowed.procs, 500);
  EXPECT_EQ(narrowed.totalhigh, 5U);
  EXPECT_EQ(narrowed.freehigh, 6U);
}

TEST(Narrow, ALargerTotalIsCountedInPagesAndSoIsAllElse) {
  struct sysinfo info = host();
  info.totalram = 4 * kGiB;
  const Sysinfo32 memory = narrow(info);
  EXPECT_EQ(memory.mem_unit, 4096U);
  EXPECT_EQ(memory.totalram, kMiB);
  EXPECT_EQ(memory.freeram, kGiB / 4096);
  EXPECT_EQ(memory.totalswap, kGiB / 4096);

  info = host();
  info.totalswap = 5 * kGiB;
  const Sysinfo32 swap = narrow(info);
  EXPECT_EQ(swap.mem_unit, 4096U);
  EXPECT_EQ(swap.totalswap, 5 * kGiB / 4096);
  EXPECT_EQ(swap.totalram, 2 * kGiB / 4096);
}

TEST(Narrow, UnitsThatAreLargerAlreadyAreKept) {
  struct sysinfo info = host();
  info.mem_unit = 1024;
  info.totalram = 8 * kGiB;
  const Sysinfo32 narrowed = narrow(info);
  EXPECT_EQ(narrowed.mem_unit, 4096U);
  EXPECT_EQ(narrowed.totalram, 2 * kGiB);
}

}  // namespace
}  // namespace sidecall::emulators
