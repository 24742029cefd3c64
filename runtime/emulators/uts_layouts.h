// The three forms in which uname(2) answers, and what a caller's personality makes of them.
#pragma once

#include <sys/utsname.h>

#include <cstdint>
#include <string>

#include "kernel/abi.h"

namespace sidecall::emulators {

// By the calls of i386; every other ABI has the first only. The kernel's structures are
// new_utsname, old_utsname and oldold_utsname.
enum class UtsLayout : std::uint8_t {
  kUname,        // six fields of 65 bytes
  kOldUname,     // the first five of them
  kOldOldUname,  // five fields of 9 bytes, cut
};

// The bytes that the call writes. `names` is what it answers to a caller without a personality;
// a NUL ends each text in it. As the kernel does:
// - UNAME26 makes a release 2.6.(60 + its second number), and what follows its third number;
// - PER_LINUX32 makes the machine that of the ABI's 32-bit sibling.
[[nodiscard]] std::string uts_bytes(const utsname& names, UtsLayout layout,
                                    std::uint32_t personality, kernel::Abi abi);

}  // namespace sidecall::emulators
