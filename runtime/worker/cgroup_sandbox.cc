#include "worker/cgroup_sandbox.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <csignal>
#include <ctime>
#include <optional>

#include "base/file.h"
#include "placement/cgroup.h"

namespace sidecall::worker {
namespace {

using placement::CgroupDirectory;
using placement::CgroupVersion;

constexpr std::chrono::milliseconds kFresh(100);

// v1 says "no limit" by a number near the largest of 64 bits, rounded to a page.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62U;

std::chrono::nanoseconds clock_now(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

UniqueFd open_quietly(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// One number from the start of a kept file; nothing for "max" or where the cgroup has gone.
std::optional<std::uint64_t> read_number(const UniqueFd& file) {
  std::array<char, 32> text{};
  const ssize_t count = ::pread(file.get(), text.data(), text.size(), 0);
  if (count <= 0) return std::nullopt;
  std::uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + count, number).ec != std::errc()) {
    return std::nullopt;
  }
  return number;
}

std::optional<std::uint64_t> smallest(const std::vector<UniqueFd>& limits) {
  std::optional<std::uint64_t> least;
  for (const UniqueFd& file : limits) {
    const auto limit = read_number(file);
    if (limit && *limit < kNoLimit) least = std::min(least.value_or(*limit), *limit);
  }
  return least;
}

std::vector<UniqueFd> open_levels(const CgroupDirectory& directory, const char* name) {
  std::vector<UniqueFd> files;
  for (const std::string& level : directory.levels()) {
    if (auto file = open_quietly(level + name)) files.push_back(std::move(file));
  }
  return files;
}

std::uint64_t minus(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

}  // namespace

Result<std::uint64_t> parse_start_ticks(std::string_view stat) {
  const auto comm_end = stat.rfind(") ");
  if (comm_end == std::string_view::npos) return failure("no command name in /proc/PID/stat");
  stat.remove_prefix(comm_end + 2);
  constexpr int kFieldsBetween = 22 - 3;  // the next is field 3
  for (int field = 0; field < kFieldsBetween; ++field) {
    stat.remove_prefix(std::min(stat.find(' '), stat.size() - 1) + 1);
    if (stat.empty()) return failure("/proc/PID/stat is cut");
  }
  std::uint64_t ticks = 0;
  if (std::from_chars(stat.data(), stat.data() + stat.size(), ticks).ec != std::errc()) {
    return failure("no start time in /proc/PID/stat");
  }
  return ticks;
}

Result<void> CgroupSandbox::bind(pid_t first_pid) {
  if (bound_) return {};
  first_process_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, first_pid, 0)));
  if (!first_process_) return errno_failure("opening the sandbox's first process");
  const auto stat = read_file("/proc/" + std::to_string(first_pid) + "/stat");
  if (!stat) return tl::unexpected<Error>(stat.error());
  auto ticks = parse_start_ticks(*stat);
  if (!ticks) return pass_on(std::move(ticks));
  started_ticks_ = *ticks;

  auto memory = placement::find_cgroup(first_pid, "memory");
  if (!memory) return pass_on(std::move(memory));
  if (*memory) {
    const CgroupDirectory& directory = **memory;
    const bool v2 = directory.version == CgroupVersion::kV2;
    memory_limits_ = open_levels(directory, v2 ? "/memory.max" : "/memory.limit_in_bytes");
    memory_used_ =
        open_quietly(directory.path + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
    swap_limits_ = open_levels(directory, v2 ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes");
    swap_used_ = open_quietly(directory.path +
                              (v2 ? "/memory.swap.current" : "/memory.memsw.usage_in_bytes"));
    swap_includes_memory_ = !v2;
  }
  auto pids = placement::find_cgroup(first_pid, "pids");
  if (!pids) return pass_on(std::move(pids));
  // In the hierarchy's root there is no such file, and the count is the host's: as it should be.
  if (*pids) processes_ = open_quietly((*pids)->path + "/pids.current");
  bound_ = true;
  return {};
}

emulators::Resources CgroupSandbox::read_all() const {
  emulators::Resources now;
  now.memory_limit = smallest(memory_limits_);
  now.memory_used = read_number(memory_used_).value_or(0);
  now.swap_limit = smallest(swap_limits_);
  now.swap_used = read_number(swap_used_).value_or(0);
  if (swap_includes_memory_) {
    now.swap_used = minus(now.swap_used, now.memory_used);
    if (now.swap_limit) *now.swap_limit = minus(*now.swap_limit, now.memory_limit.value_or(0));
  }
  now.processes = read_number(processes_);
  const auto ticks_a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const auto since_boot =
      std::chrono::duration_cast<std::chrono::seconds>(clock_now(CLOCK_BOOTTIME)).count();
  now.uptime_seconds =
      minus(static_cast<std::uint64_t>(since_boot), started_ticks_ / ticks_a_second);
  struct sysinfo host {};
  static_cast<void>(::sysinfo(&host));  // fails for a bad address alone
  now.host = std::bit_cast<decltype(now.host)>(host);
  return now;
}

Result<emulators::Resources> CgroupSandbox::resources() const {
  if (!bound_) return failure("the sandbox's cgroups are not known yet");
  const auto now = clock_now(CLOCK_MONOTONIC_COARSE);
  auto last = last_.load();
  if (!last || now - last->at >= kFresh) {
    last = std::make_shared<const Reading>(Reading{.resources = read_all(), .at = now});
    last_.store(last);
  }
  return last->resources;
}

SysResult<void> CgroupSandbox::stop() const {
  if (::syscall(SYS_pidfd_send_signal, first_process_.get(), SIGKILL, nullptr, 0) != 0) {
    return sys_failure(errno);
  }
  return {};
}

}  // namespace sidecall::worker
