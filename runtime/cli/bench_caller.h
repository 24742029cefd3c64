// The callers of one row: threads or processes that make one kind of call on command.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/bench_call.h"
#include "cli/bench_latencies.h"
#include "cli/filter.h"
#include "placement/placement.h"

namespace sidecall::cli {

struct BenchCallerSpec {
  BenchCall call = BenchCall::kValue;
  int callers = 1;
  bool processes = false;  // else threads of one process
  bool contained = true;   // root of a user namespace of its own, as in a container
  placement::Seat seat{};
};

// Owns the processes, which end with it or with this process.
class BenchCaller {
 public:
  // Whatever `filter` notifies must be served before run().
  [[nodiscard]] static Result<BenchCaller> start(const BenchCallerSpec& spec, Filter filter);
  BenchCaller(BenchCaller&& other) noexcept
      : latencies_(std::move(other.latencies_)),
        lines_(std::move(other.lines_)),
        listener_(std::move(other.listener_)),
        pid_(std::exchange(other.pid_, -1)) {}
  BenchCaller& operator=(BenchCaller&&) = delete;
  ~BenchCaller();

  [[nodiscard]] UniqueFd& listener() { return listener_; }  // none where nothing is notified
  [[nodiscard]] pid_t pid() const { return pid_; }

  // Every caller makes `calls` calls, after some that are not counted, at whose beginning `begun`
  // is called. Gives nanoseconds from the first one's begin to the last one's end, per call of all
  // of them. An error where a caller got a wrong answer or died.
  [[nodiscard]] Result<double> run(int calls, const std::function<Result<void>()>& begun);
  // The same, with the time of each call into latencies(), at the cost of a look at the clock.
  [[nodiscard]] Result<double> run_timed(int calls, const std::function<Result<void>()>& begun);
  [[nodiscard]] const Latencies& latencies() const { return *latencies_; }

 private:
  struct Unmap {
    void operator()(Latencies* latencies) const;
  };

  BenchCaller() = default;
  [[nodiscard]] Result<double> order(int calls, bool timed,
                                     const std::function<Result<void>()>& begun);

  std::unique_ptr<Latencies, Unmap> latencies_;
  std::vector<UniqueFd> lines_;  // one to each caller
  UniqueFd listener_;
  pid_t pid_ = -1;
};

}  // namespace sidecall::cli
