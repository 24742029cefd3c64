// swapon(2) and swapoff(2), pretended. Natively nothing is asked for that the kernel would do.
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "grid/caller.h"

namespace sidecall::grid {
namespace {

// SWAP_FLAG_* of linux/swap.h.
constexpr unsigned kPrefer = 0x8000;
constexpr unsigned kDiscard = 0x70000;
constexpr unsigned kKnown = 0x7ffff;

long swap_on(const char* path, unsigned long flags = 0) {
  return ::syscall(SYS_swapon, path, flags);
}
long swap_off(const char* path) {
  return ::syscall(SYS_swapoff, path);
}

std::string swaps() {
  std::ifstream file("/proc/swaps");
  return {std::istreambuf_iterator<char>(file), {}};
}

void is_pretended(const Checks& check) {
  make_file(check, "file");
  const std::string before = swaps();
  for (const char* path : {"file", "nowhere", "", static_cast<const char*>(nullptr)}) {
    check.gives("swapon", swap_on(path), 0);
    check.gives("swapoff", swap_off(path), 0);
  }
  check.holds("swap is as before", swaps() == before);
}

constexpr Case kCases[] = {
    {"by root", Off::kFails, is_pretended, Where::kContainerOnly},
    {"by a user", Off::kFails,
     [](const Checks& check) {
       check.arrange("chmod", ::chmod(".", 0777) == 0);
       act_as(check, {.uid = 1234, .gid = 1234}, {});
       is_pretended(check);
     },
     Where::kContainerOnly},
    {"by a thread", Off::kFails,
     [](const Checks& check) { in_thread([&] { is_pretended(check); }); }, Where::kContainerOnly},
    {"each flag that there is", Off::kFails,
     [](const Checks& check) {
       for (const unsigned flags : {kPrefer, kPrefer | 0x7fff, kDiscard, kKnown}) {
         check.gives("flags " + std::to_string(flags), swap_on("nowhere", flags), 0);
       }
       // None where a long has 32 bits.
       const auto garbage = static_cast<unsigned long>(0xdeadbeefULL << 32U);
       check.gives("garbage above them", swap_on("nowhere", garbage), 0);
     },
     Where::kContainerOnly},
    {"each flag that there is not", Off::kHolds,
     [](const Checks& check) {
       for (unsigned bit = 19; bit < 32; ++bit) {
         check.fails("bit " + std::to_string(bit), swap_on(nullptr, 1U << bit), EINVAL);
         check.fails("with one that there is", swap_on(nullptr, 1U << bit | kPrefer), EINVAL);
       }
     }},
    {"without CAP_SYS_ADMIN on the host", Off::kHolds,
     [](const Checks& check) {
       drop_capability(check, CAP_SYS_ADMIN);
       check.fails("swapon", swap_on("nowhere"), EPERM);
       check.fails("swapoff", swap_off("nowhere"), EPERM);
     },
     Where::kNativeOnly},
};

}  // namespace

Grid grid() {
  return {.name = "swap",
          .policy = R"({"rules": [{"emulate": "swap", "options": {"mode": "pretend"}}]})",
          .themes = {{"pretended", kCases}}};
}

}  // namespace sidecall::grid
