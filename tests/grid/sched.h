// What the cases of the scheduling calls have in common.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>

#include "grid/case.h"

namespace sidecall::grid {

// The policy's ceilings.
inline constexpr int kMostPriority = 20;
inline constexpr int kLeastNice = -10;

// struct sched_attr of linux/sched/types.h, which glibc 2.36 has not.
struct Attributes {
  std::uint32_t size = sizeof(Attributes);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
  std::uint32_t least_utilisation = 0;
  std::uint32_t most_utilisation = 0;
};
static_assert(sizeof(Attributes) == 56);
inline constexpr std::uint32_t kFirstAttributesSize = 48;
inline constexpr std::uint64_t kResetOnFork = 1;      // SCHED_FLAG_RESET_ON_FORK
inline constexpr std::uint64_t kKeepPolicy = 8;       // SCHED_FLAG_KEEP_POLICY
inline constexpr std::uint64_t kKeepParameters = 16;  // SCHED_FLAG_KEEP_PARAMS

// Classes of linux/ioprio.h.
enum : unsigned { kIoNone, kIoRealtime, kIoBestEffort, kIoIdle };
[[nodiscard]] unsigned io_priority(unsigned io_class, unsigned level);

// The bare system calls. Thread 0 is the caller.
long set_policy(pid_t thread, int policy, int priority);
long set_parameter(pid_t thread, int priority);
long set_attributes(pid_t thread, const void* attributes, unsigned flags = 0);
long set_nice(pid_t process, int nice);
long set_io_priority(pid_t process, unsigned priority);

// What the kernel says of a thread.
[[nodiscard]] bool has_policy(pid_t thread, int policy, int priority);
[[nodiscard]] bool has_nice(pid_t thread, int nice);

// Runs `act` with the number of a process that does nothing, and ends that.
void with_child(const Checks& check, const std::function<void(pid_t)>& act);

[[nodiscard]] std::span<const Case> sched_policies();
[[nodiscard]] std::span<const Case> sched_priorities();
[[nodiscard]] std::span<const Case> sched_threads();
[[nodiscard]] std::span<const Case> sched_credentials();
[[nodiscard]] std::span<const Case> sched_memory();

}  // namespace sidecall::grid
