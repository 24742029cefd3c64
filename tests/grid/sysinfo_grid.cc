// sysinfo(2): the sandbox's own figures, in the caller's own layout.
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "grid/buffers.h"

namespace sidecall::grid {
namespace {

// struct sysinfo as the kernel fills it for this ABI.
#if defined(__i386__)
static_assert(sizeof(struct sysinfo) == 64);
#else
static_assert(sizeof(struct sysinfo) == 112);
#endif

using Buffers = BufferCases<SYS_sysinfo, sizeof(struct sysinfo)>;

struct sysinfo ask(const Checks& check) {
  struct sysinfo info {};
  std::memset(&info, 0xa5, sizeof info);
  check.gives("sysinfo", ::syscall(SYS_sysinfo, &info), 0);
  return info;
}

std::uint64_t in_bytes(const struct sysinfo& info, unsigned long amount) {
  return std::uint64_t{amount} * info.mem_unit;
}

double seconds_since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// When process 1 started, in seconds after boot: field 22 of proc_pid_stat(5).
double first_process_start(const Checks& check) {
  std::ifstream file("/proc/1/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(") ");
  check.arrange("reading /proc/1/stat", name_end != std::string::npos);
  std::istringstream fields(line.substr(name_end + 2));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  double ticks = 0;
  check.arrange("its 22nd field", static_cast<bool>(fields >> ticks));
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// The tasks that this /proc shows.
std::size_t count_tasks() {
  std::size_t count = 0;
  std::error_code gone;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto tasks = std::filesystem::directory_iterator(process.path() / "task", gone);
    count += static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
  }
  return count;
}

constexpr Case kCases[] = {
    {"memory limit", Off::kFails,
     [](const Checks& check) {
       const struct sysinfo info = ask(check);
       check.holds("the total is the limit", in_bytes(info, info.totalram) == kMemoryLimit);
       check.holds("less than that is free", info.freeram < info.totalram && info.freeram > 0);
       check.holds("high memory is none of it", info.totalhigh == 0 && info.freehigh == 0);
     },
     Where::kContainerOnly},
    {"unit of what fits", Off::kFails,
     [](const Checks& check) {
       // Of the host's memory this is so only where a long holds it.
       const struct sysinfo info = ask(check);
       check.holds("memory is counted in bytes",
                   info.mem_unit == 1 && info.totalram == kMemoryLimit);
     },
     Where::kContainerOnly},
    {"uptime of the sandbox", Off::kFails,
     [](const Checks& check) {
       const double start = first_process_start(check);
       const double before = seconds_since_boot() - start;
       const struct sysinfo info = ask(check);
       const double after = seconds_since_boot() - start;
       const auto uptime = static_cast<double>(info.uptime);
       check.holds("it is between the ages of the first process",
                   uptime >= before - 2 && uptime <= after + 1);
     },
     Where::kContainerOnly},
    {"processes of the sandbox", Off::kFails,
     [](const Checks& check) {
       // What the emulator knows may be a moment old: then once more.
       for (int tries = 0; tries < 50; ++tries) {
         if (ask(check).procs == count_tasks()) return;
         ::usleep(20000);
       }
       check.gives("processes", ask(check).procs, static_cast<long>(count_tasks()));
     },
     Where::kContainerOnly},
    {"figures of the host", Off::kHolds,
     [](const Checks& check) {
       const double before = seconds_since_boot();
       const struct sysinfo info = ask(check);
       const double after = seconds_since_boot();
       const auto uptime = static_cast<double>(info.uptime);
       check.holds("uptime", uptime >= before - 1 && uptime <= after + 1);
       const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
       const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
       check.holds("memory", in_bytes(info, info.totalram) / page == pages);
     },
     Where::kNativeOnly},
    {"layout", Off::kHolds,
     [](const Checks& check) {
       const struct sysinfo info = ask(check);
       const auto unit = info.mem_unit;
       check.holds("the unit is a power of two up to a page",
                   unit >= 1 && unit <= 4096 && (unit & (unit - 1)) == 0);
       check.holds("free memory is part of it", info.freeram <= info.totalram);
       check.holds("free swap is part of it", info.freeswap <= info.totalswap);
       check.holds("there are processes", info.procs > 0);
       check.holds("load averages are no nonsense", info.loads[0] < (10000UL << 16U));
#if defined(__i386__)
       for (const char byte : info._f) check.holds("padding is zero", byte == 0);
#endif
     }},
    {"registers that are no arguments", Off::kHolds,
     [](const Checks& check) {
       struct sysinfo info {};
       check.gives("sysinfo", ::syscall(SYS_sysinfo, &info, ~0UL, ~0UL, ~0UL, ~0UL, ~0UL), 0);
       check.holds("it was filled", info.totalram != 0);
     }},
    {"thread", Off::kFails,
     [](const Checks& check) {
       in_thread([&] {
         const struct sysinfo info = ask(check);
         check.holds("the total is the limit", in_bytes(info, info.totalram) == kMemoryLimit);
       });
     },
     Where::kContainerOnly},
    {"user without capabilities", Off::kFails,
     [](const Checks& check) {
       act_as(check, {.uid = 1234, .gid = 2345}, {});
       const struct sysinfo info = ask(check);
       check.holds("the total is the limit", in_bytes(info, info.totalram) == kMemoryLimit);
     },
     Where::kContainerOnly},
    {"caller that is not dumpable", Off::kFails,
     [](const Checks& check) {
       check.arrange("PR_SET_DUMPABLE", ::prctl(PR_SET_DUMPABLE, 0) == 0);
       const struct sysinfo info = ask(check);
       check.holds("the total is the limit", in_bytes(info, info.totalram) == kMemoryLimit);
     },
     Where::kContainerOnly},
    {"user namespace of the caller's own", Off::kFails,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWUSER", ::unshare(CLONE_NEWUSER) == 0);
       const struct sysinfo info = ask(check);
       check.holds("the total is the limit", in_bytes(info, info.totalram) == kMemoryLimit);
     },
     Where::kContainerOnly},
};

}  // namespace

Grid grid() {
  return {.name = "sysinfo",
          .policy = R"({"rules": [{"emulate": "sysinfo"}]})",
          .themes = {{"figures", kCases}, {"memory", Buffers::kCases}}};
}

}  // namespace sidecall::grid
