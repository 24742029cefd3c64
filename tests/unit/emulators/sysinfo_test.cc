#include "emulators/sysinfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysinfo.h>

#include <array>
#include <cstring>

#include "emulators/sysinfo_figures.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"

namespace sidecall::emulators {
namespace {

constexpr std::uint64_t kAddress = 0x7000;
constexpr std::uint64_t kMiB = 1U << 20U;

// struct sysinfo without the flexible end that a class may not have.
struct Sysinfo64 {
  std::int64_t uptime;
  std::array<std::uint64_t, 3> loads;
  std::uint64_t totalram, freeram, sharedram, bufferram, totalswap, freeswap;
  std::uint16_t procs, pad;
  std::uint64_t totalhigh, freehigh;
  std::uint32_t mem_unit;
};
static_assert(sizeof(Sysinfo64) == sizeof(struct sysinfo));

Sysinfo64 host_sysinfo() {
  struct sysinfo info {};
  EXPECT_EQ(::sysinfo(&info), 0);
  Sysinfo64 copy{};
  std::memcpy(&copy, &info, sizeof copy);
  return copy;
}

class SysinfoTest : public testing::Test {
 protected:
  SysinfoTest() : emulator_(std::move(*sysinfo_row().make({}))) {
    // Filled, so that a byte that is not written shows; and guarded by what follows.
    target_.map(kAddress, std::string(sizeof(Sysinfo64), '\xee') + "guard");
  }

  Outcome emulate(kernel::Abi abi = kernel::Abi::kX86_64, std::uint64_t address = kAddress) {
    Environment environment{.target = target_, .sandbox = sandbox_};
    return emulator_->emulate({.abi = abi, .args = {address}}, environment);
  }
  template <typename Info>
  Info told(kernel::Abi abi) {
    const Outcome outcome = emulate(abi);
    EXPECT_TRUE(outcome && std::holds_alternative<Value>(*outcome));
    Info info{};
    const std::string bytes = target_.bytes_at(kAddress, sizeof info);
    std::memcpy(&info, bytes.data(), sizeof info);
    return info;
  }
  Sysinfo64 told() { return told<Sysinfo64>(kernel::Abi::kX86_64); }

  const Sysinfo64 host_ = host_sysinfo();
  std::unique_ptr<Emulator> emulator_;
  support::FakeTarget target_;
  support::FakeSandbox sandbox_;
};

TEST_F(SysinfoTest, ShowsTheSandboxsMemoryProcessesAndUptime) {
  sandbox_.figures.memory_limit = 64 * kMiB;
  sandbox_.figures.memory_used = 48 * kMiB;
  sandbox_.figures.processes = 12;
  sandbox_.figures.uptime_seconds = 34;
  const Sysinfo64 info = told();
  EXPECT_EQ(info.totalram, 64 * kMiB);
  EXPECT_LE(info.freeram, 16 * kMiB);
  EXPECT_EQ(info.sharedram, 0U);
  EXPECT_EQ(info.bufferram, 0U);
  EXPECT_EQ(info.procs, 12);
  EXPECT_EQ(info.uptime, 34);
  EXPECT_EQ(info.mem_unit, host_.mem_unit);
  EXPECT_EQ(target_.bytes_at(kAddress + sizeof info, 5), "guard");
}

TEST_F(SysinfoTest, WithoutLimitsTheHostsMemoryShows) {
  const Sysinfo64 info = told();
  EXPECT_EQ(info.totalram, host_.totalram);
  EXPECT_EQ(info.totalswap, host_.totalswap);
  EXPECT_GT(info.procs, 0);
  EXPECT_EQ(info.uptime, 0);
}

TEST_F(SysinfoTest, A32BitCallerGetsItsOwnLayout) {
  sandbox_.figures.memory_limit = 64 * kMiB;
  sandbox_.figures.memory_used = 64 * kMiB - 4096;
  sandbox_.figures.swap_limit = 0;
  sandbox_.figures.processes = 3;
  sandbox_.figures.uptime_seconds = 99;
  const auto info = told<Sysinfo32>(kernel::Abi::kI386);
  EXPECT_EQ(info.uptime, 99);
  EXPECT_EQ(info.totalram, 64 * kMiB);
  EXPECT_EQ(info.freeram, 4096U);
  EXPECT_EQ(info.totalswap, 0U);
  EXPECT_EQ(info.procs, 3);
  EXPECT_EQ(info.mem_unit, 1U);
  EXPECT_EQ(target_.bytes_at(kAddress + 64, 1), "\xee");
}

TEST_F(SysinfoTest, ABufferThatCannotBeWrittenIsEfault) {
  target_.map(0x9000, std::string(sizeof(Sysinfo64), '\0'), false);
  target_.map(0xa000, std::string(sizeof(Sysinfo64) - 1, '\0'));
  for (const std::uint64_t address : {0x0U, 0x9000U, 0xa000U}) {
    const Outcome outcome = emulate(kernel::Abi::kX86_64, address);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(std::get<Errno>(*outcome).value, EFAULT) << address;
  }
  const Outcome narrow = emulate(kernel::Abi::kI386, 0xa000);
  ASSERT_TRUE(narrow);
  EXPECT_TRUE(std::holds_alternative<Value>(*narrow)) << "64 bytes are enough for it";
}

TEST_F(SysinfoTest, UnknownFiguresAreAFailureOfOursAndNoAnswer) {
  sandbox_.error = Error{"the cgroup is not known"};
  const Outcome outcome = emulate();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "the cgroup is not known");
  EXPECT_EQ(target_.looks(support::Look::kWrite), 0);
}

}  // namespace
}  // namespace sidecall::emulators
