#include "policy/syscall_names.h"

#include <seccomp.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "oci/suggest.h"

namespace sidecall::policy {
namespace {

using kernel::Abi;

#if defined(__x86_64__)
constexpr std::array kHostAbis = {Abi::kX86_64, Abi::kI386};
#elif defined(__aarch64__)
constexpr std::array kHostAbis = {Abi::kAArch64};
#else
#error "sidecall decodes the calls of x86_64 and aarch64 hosts only"
#endif

constexpr int kNumbers = 1024;  // beyond the last system call of each ABI

std::uint32_t scmp_arch(Abi abi) {
  switch (abi) {
    case Abi::kX86_64:
      return SCMP_ARCH_X86_64;
    case Abi::kI386:
      return SCMP_ARCH_X86;
    case Abi::kAArch64:
      return SCMP_ARCH_AARCH64;
  }
  return SCMP_ARCH_NATIVE;
}

}  // namespace

bool is_syscall(const std::string& name) {
  return seccomp_syscall_resolve_name(name.c_str()) != __NR_SCMP_ERROR;
}

std::string syscall_suggestion(const std::string& name) {
  std::vector<std::string> known;
  for (int number = 0; number < kNumbers; ++number) {
    using Name = std::unique_ptr<char, decltype(&std::free)>;
    const Name found(seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), &std::free);
    if (found) known.emplace_back(found.get());
  }
  return oci::did_you_mean(name, std::vector<std::string_view>(known.begin(), known.end()));
}

std::span<const Abi> host_abis() {
  return kHostAbis;
}

std::optional<std::int32_t> syscall_number(Abi abi, const std::string& name) {
  const int number = seccomp_syscall_resolve_name_arch(scmp_arch(abi), name.c_str());
  if (number < 0) return std::nullopt;  // libseccomp's own numbers for what an ABI lacks
  return number;
}

std::string multiplexer_on_i386(const std::string& name) {
  // In each group the direct calls came in Linux 4.3 and 5.1; a 32-bit libc uses either.
  static constexpr std::array<std::string_view, 20> kSocketCalls = {
      "accept",  "accept4", "bind",       "connect",  "getpeername", "getsockname", "getsockopt",
      "listen",  "recv",    "recvfrom",   "recvmmsg", "recvmsg",     "send",        "sendmmsg",
      "sendmsg", "sendto",  "setsockopt", "shutdown", "socket",      "socketpair"};
  static constexpr std::array<std::string_view, 12> kIpc = {
      "msgctl", "msgget",     "msgrcv", "msgsnd", "semctl", "semget",
      "semop",  "semtimedop", "shmat",  "shmctl", "shmdt",  "shmget"};
  for (const std::string_view call : kSocketCalls) {
    if (call == name) return "socketcall";
  }
  for (const std::string_view call : kIpc) {
    if (call == name) return "ipc";
  }
  return "";
}

}  // namespace sidecall::policy
