// Two threads that make getppid(2) calls on command, and the listener that their calls go to.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>

#include "kernel/listener.h"

namespace sidecall::kernel_tests {

using Args = std::array<std::uint64_t, 6>;

struct Returned {
  std::int64_t value = 0;  // -1 where `error` is set
  int error = 0;
};

// Callers are numbered 0 and 1 and share one filter.
class Callers {
 public:
  static constexpr int kCount = 2;

  Callers() = default;
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;
  virtual ~Callers() = default;

  [[nodiscard]] virtual kernel::Listener& listener() = 0;
  // Makes the caller start a call; wait_for_return() gives what it returned.
  virtual void make_call(int caller, const Args& args) = 0;
  [[nodiscard]] virtual Returned wait_for_return(int caller) = 0;
  // What the caller's read(2) of one byte and F_GETFD give for its descriptor `fd`.
  [[nodiscard]] virtual Returned read_byte(int caller, int fd) = 0;
  [[nodiscard]] virtual Returned descriptor_flags(int caller, int fd) = 0;
  [[nodiscard]] virtual pid_t tid(int caller) const = 0;
  // What the kernel itself answers to the caller's call.
  [[nodiscard]] virtual std::int64_t native_value(int caller) const = 0;
  // Returns when the caller is dead.
  virtual void kill(int caller) = 0;
  // Every user of the filter exits.
  virtual void finish() = 0;
  // A signal reaches a thread that may be blocked in receive().
  virtual void interrupt(std::thread& receiver) = 0;
};

// Processes of the real kernel; null where they could not be started, which fails the test.
[[nodiscard]] std::unique_ptr<Callers> real_callers();
// The same on support::FakeListener.
[[nodiscard]] std::unique_ptr<Callers> fake_callers();

}  // namespace sidecall::kernel_tests
