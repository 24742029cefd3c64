// A process that makes one kind of call on command and says how long it took.
#pragma once

#include <sys/types.h>

#include <functional>

#include "base/unique_fd.h"
#include "kernel/trial.h"
#include "placement/cpu_set.h"

namespace sidecall::bench {

// Owns the process. The call is notified from its start: something must serve the listener.
class Caller {
 public:
  // `call` returns false where an answer was wrong, which ends the benchmark.
  [[nodiscard]] static Result<Caller> start(long nr, const placement::CpuSet& cpus,
                                            const std::function<bool()>& call);

  [[nodiscard]] UniqueFd take_listener() { return trial_.take_listener(); }
  [[nodiscard]] pid_t pid() const { return trial_.pid(); }
  // Makes `count` calls and gives the mean in nanoseconds.
  [[nodiscard]] Result<double> run(int count);

 private:
  Caller(kernel::Trial trial, UniqueFd commands)
      : trial_(std::move(trial)), commands_(std::move(commands)) {}
  kernel::Trial trial_;
  UniqueFd commands_;
};

}  // namespace sidecall::bench
