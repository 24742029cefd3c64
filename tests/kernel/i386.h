// Calls of the 32-bit ABI from a 64-bit program, where the machine has them.
#pragma once

#if defined(__x86_64__)

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

namespace sidecall::testing {

// As syscall(2): -1 and errno. Pointers must lie below 4 GiB.
inline long call_i386(long nr, std::uint64_t first = 0, std::uint64_t second = 0,
                      std::uint64_t third = 0, std::uint64_t fourth = 0, std::uint64_t fifth = 0) {
  long result = nr;
  __asm__ volatile("int $0x80"
                   : "+a"(result)
                   : "b"(first), "c"(second), "d"(third), "S"(fourth), "D"(fifth)
                   : "memory", "r8", "r9", "r10", "r11");
  if (result >= 0 || result <= -4096) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// A page of zeros that those calls reach; it goes with the process.
inline char* low_page() {
  return static_cast<char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
}
inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace sidecall::testing

#endif
