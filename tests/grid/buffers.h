// A system call that fills a structure of the caller's: every kind of memory it may be given.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "grid/caller.h"
#include "grid/case.h"

namespace sidecall::grid {

// The cases for call `kNumber`, whose only argument is the address of `kSize` bytes to be filled.
// None needs an emulator: with sidecall off the kernel fills the structure.
template <long kNumber, std::size_t kSize>
class BufferCases {
  static constexpr std::array kEveryBeyond = {Border::Beyond::kUnmapped, Border::Beyond::kReadOnly,
                                              Border::Beyond::kNoAccess};

  static long call(void* buffer) { return ::syscall(kNumber, buffer); }
  static long call_at(std::uintptr_t address) { return ::syscall(kNumber, address); }

 public:
  static constexpr std::array<Case, 9> kCases = {{
      {"buffer at NULL", Off::kHolds,
       [](const Checks& check) {
         check.fails("at 0", call_at(0), EFAULT);
         check.fails("at 1", call_at(1), EFAULT);
       }},
      {"buffer at the end of the address space", Off::kHolds,
       [](const Checks& check) {
         check.fails("at the last byte", call_at(UINTPTR_MAX), EFAULT);
         check.fails("across its end", call_at(UINTPTR_MAX - kSize / 2), EFAULT);
         check.fails("in the upper half", call_at(~(UINTPTR_MAX >> 1U)), EFAULT);
       }},
      {"buffer on a page that cannot be written", Off::kHolds,
       [](const Checks& check) {
         for (const auto beyond : kEveryBeyond) {
           check.fails("on the page", call(Border(check, beyond).line()), EFAULT);
         }
       }},
      {"buffer of which half cannot be written", Off::kHolds,
       [](const Checks& check) {
         for (const auto beyond : kEveryBeyond) {
           check.fails("half on the page", call(Border(check, beyond).line() - kSize / 2), EFAULT);
           check.fails("a byte on the page", call(Border(check, beyond).line() - kSize + 1),
                       EFAULT);
         }
       }},
      {"buffer that ends with a page", Off::kHolds,
       [](const Checks& check) {
         for (const auto beyond : kEveryBeyond) {
           check.gives("before the page", call(Border(check, beyond).line() - kSize), 0);
         }
       }},
      {"nothing beyond the buffer", Off::kHolds,
       [](const Checks& check) {
         constexpr unsigned char kMark = 0xa5;
         std::array<unsigned char, kSize + 32> bytes{};
         bytes.fill(kMark);
         check.gives("the call", call(bytes.data() + 16), 0);
         for (std::size_t index = 0; index < 16; ++index) {
           check.holds("the bytes before are as they were", bytes[index] == kMark);
           check.holds("the bytes after too", bytes[16 + kSize + index] == kMark);
         }
       }},
      {"buffer across pages of several mappings", Off::kHolds,
       [](const Checks& check) {
         const Border border(check, Border::Beyond::kUnmapped);
         void* const next = ::mmap(border.line(), 4096, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
         check.arrange("mmap", next == border.line());
         check.gives("the call", call(border.line() - kSize / 2), 0);
       }},
      {"buffer in a mapped file past its end", Off::kHolds,
       [](const Checks& check) {
         make_file(check, "file");
         const int file = open_descriptor(check, "file", O_RDWR);
         void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
         check.arrange("mmap", page != MAP_FAILED);
         check.fails("the call", call(page), EFAULT);
       }},
      {"buffer that a child shares until it writes", Off::kHolds,
       [](const Checks& check) {
         std::array<unsigned char, kSize> bytes{};
         in_child(check, [&] {
           check.gives("the child's call", call(bytes.data()), 0);
           check.holds("it filled the child's", bytes != std::array<unsigned char, kSize>{});
         });
         check.holds("and not ours", bytes == std::array<unsigned char, kSize>{});
       }},
  }};
};

}  // namespace sidecall::grid
