// The directories of threads that have called, kept open between their calls.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>

#include "kernel/thread_directory.h"

namespace sidecall::kernel {

// Used by one thread. A kept directory may be of a thread that has ended, whose number another one
// has by now: looks at it then fail with ESRCH.
class ThreadCache {
 public:
  static constexpr std::size_t kMost = 8;

  // Null where there is none of this number.
  [[nodiscard]] ThreadDirectory* find(pid_t tid);
  // In the place of the one of that number, or of the one that was used the longest ago.
  ThreadDirectory& keep(pid_t tid, ThreadDirectory directory);

 private:
  struct Entry {
    pid_t tid = 0;
    std::uint64_t used = 0;
    std::optional<ThreadDirectory> directory;
  };
  std::array<Entry, kMost> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace sidecall::kernel
