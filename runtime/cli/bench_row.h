// One row of `sidecall bench`: callers and what answers them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench_caller.h"
#include "cli/bench_floor.h"
#include "cli/bench_seat.h"
#include "emulators/program.h"
#include "worker/launch.h"

namespace sidecall::cli {

struct BenchRow {
  enum class By : std::uint8_t {
    kFloor,   // a bare loop (bench_floor.h)
    kWorker,  // sidecall-worker
    kKernel,  // nobody: the call is not notified
  };
  enum class Where : std::uint8_t {
    kOneCpu,    // callers and supervisor on the same one
    kEveryCpu,  // both on any of them, and apart to begin with, as strangers mostly are
    kApart,     // each on a CPU of its own
  };

  std::string name;
  By by = By::kFloor;
  BenchCall call = BenchCall::kValue;
  Where where = Where::kOneCpu;
  bool sync = true;
  int callers = 1;
  bool processes = false;
  bool contained = true;  // callers have a user namespace of their own
  FloorReply reply = kFloorValue;
  int work_us = 0;         // of a floor, in its handler
  std::string emulator{};  // of a worker; empty: a rule with a value
  bool notifies = true;    // of kKernel: whether its filter notifies other calls
  std::string against{};   // the row whose time is 1
};

// Every row, each after the one that it is held against. Those that need two CPUs are left out
// where this process has one.
[[nodiscard]] std::vector<BenchRow> bench_rows(int cpus);

// A row at work. Ends its processes.
class RunningRow {
 public:
  [[nodiscard]] static Result<RunningRow> start(const BenchRow& row, int number);
  RunningRow(RunningRow&&) noexcept = default;
  RunningRow& operator=(RunningRow&&) = delete;
  ~RunningRow();

  // As BenchCaller's. A row on every CPU begins apart each time: without synchronous wake-up the
  // scheduler mostly leaves both sides where they are, so that else the cost would be that of
  // where they happened to be.
  [[nodiscard]] Result<double> run(int calls);
  [[nodiscard]] Result<double> run_timed(int calls);
  [[nodiscard]] const Latencies& latencies() const { return caller_->latencies(); }

 private:
  RunningRow() = default;
  [[nodiscard]] Result<void> serve_by_floor(const BenchRow& row, const placement::Seat& seat);
  [[nodiscard]] Result<void> serve_by_worker(const BenchRow& row, const placement::Seat& seat);
  [[nodiscard]] Result<void> place(const placement::CpuSet& callers,
                                   const placement::CpuSet& supervisor);
  [[nodiscard]] Result<void> part();
  [[nodiscard]] Result<void> release();

  BenchCgroup cgroup_;         // outlives the processes in it
  pid_t supervisor_ = -1;      // none where the kernel answers
  placement::CpuSet free_on_;  // empty: both sides stay where they are
  std::optional<worker::WorkerProcess> worker_;
  std::optional<BenchCaller> caller_;
};

}  // namespace sidecall::cli
