// One shape of supervisor under one load: what `receivers` measures cells of. None of sidecall's
// own code is below, so that what is found holds for any supervisor.
#pragma once

#include <sched.h>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sidecall::bench {

// Where supervisor and callers may run, and what a call is.
struct Load {
  std::vector<unsigned> cpus;           // of the supervisor
  std::vector<unsigned> caller_cpus{};  // where empty, the same
  bool pinned = false;       // caller N stays on the CPU N modulo their number; else on any of them
  int callers = 1;           // threads of one process
  int work_us = 0;           // in the handler, between RECV and SEND
  bool sync = true;          // synchronous wake-up
  bool descriptors = false;  // a caller closes what it gets
};

// A listener that is served until `stop`.
struct Service {
  int listener = -1;
  const Load& load;
  const std::atomic<bool>& stop;
};

struct Shape {
  std::string_view name;
  std::string_view what;
  void (*serve)(const Service& service);
};

// Every candidate, the plainest first.
[[nodiscard]] const std::vector<Shape>& shapes();

// Calls a second that `shape` serves under `load`, over `milliseconds`. Forks both sides.
[[nodiscard]] double measure(const Shape& shape, const Load& load, int milliseconds);

// Keeps the CPU busy, by iterations that were timed once; no system call, no clock.
void work(int microseconds);
// Once, before anything forks.
void calibrate_work();

// A number of a command line; 1 for what is none.
[[nodiscard]] inline int positive(std::string_view word) {
  int number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number > 0 ? number : 1;
}

[[nodiscard]] cpu_set_t mask_of(const std::vector<unsigned>& cpus);

}  // namespace sidecall::bench
