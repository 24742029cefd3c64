#include "cli/bench_row.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/paths.h"
#include "kernel/listener.h"
#include "oci/seccomp.h"

namespace sidecall::cli {
namespace {

constexpr int kGraceMilliseconds = 500;

#if defined(__x86_64__)
constexpr kernel::Abi kNative = kernel::Abi::kX86_64;
#else
constexpr kernel::Abi kNative = kernel::Abi::kAArch64;
#endif

struct Notified {
  int nr;
  const char* name;
};

Notified notified_by(BenchCall call) {
  switch (call) {
    case BenchCall::kSysinfo:
      return {SYS_sysinfo, "sysinfo"};
    case BenchCall::kUname:
      return {SYS_uname, "uname"};
    case BenchCall::kMknod:
      return {SYS_mknodat, "mknodat"};  // by which glibc does mknod
    default:
      return {SYS_getppid, "getppid"};
  }
}

// The same filter with and without notification: what is compared has the same length.
Result<Filter> filter_for(const BenchRow& row) {
  const bool notifies =
      row.by != BenchRow::By::kKernel || (row.notifies && row.call == BenchCall::kPlain);
  oci::SeccompProfile profile = oci::allow_all_profile();
  oci::SeccompRule rule;
  rule.names = {notified_by(row.by == BenchRow::By::kKernel ? BenchCall::kValue : row.call).name};
  rule.action = notifies ? "SCMP_ACT_NOTIFY" : "SCMP_ACT_ERRNO";
  profile.syscalls.push_back(std::move(rule));
  return Filter::build(profile);
}

emulators::Program program_for(const BenchRow& row) {
  emulators::Program program;
  program.policy = "bench";
  program.sync_wake_up = row.sync;
  emulators::Rule rule;
  if (row.emulator.empty()) {
    rule.action = emulators::Rule::Action::kValue;
    rule.number = kBenchValue;
  } else {
    rule.action = emulators::Rule::Action::kEmulate;
    emulators::Options options;
    if (row.call == BenchCall::kMknod) {
      rule.member = 1;  // mknodat
      options["devices"] = std::vector<std::string>{"c 1:3"};
    }
    if (row.call == BenchCall::kUname) options["release"] = std::string("5.10.0");
    program.instances.push_back({.emulator = row.emulator, .options = std::move(options)});
  }
  const Notified notified = notified_by(row.call);
  program.routes.push_back(
      {.abi = kNative, .nr = notified.nr, .name = notified.name, .rules = {rule}});
  return program;
}

struct Sides {
  placement::CpuSet callers;
  placement::CpuSet supervisor;
};

placement::CpuSet only(unsigned cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  return placement::CpuSet(mask);
}

// On the first CPU of `all` and on the last, which are one where there is one.
Sides apart(const placement::CpuSet& all) {
  unsigned first = 0;
  while (!CPU_ISSET(first, &all.mask())) ++first;
  unsigned last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &all.mask())) --last;
  return {.callers = only(first), .supervisor = only(last)};
}

Sides cpus_for(BenchRow::Where where, const placement::CpuSet& all) {
  if (where == BenchRow::Where::kEveryCpu) return {.callers = all, .supervisor = all};
  Sides sides = apart(all);
  if (where == BenchRow::Where::kOneCpu) sides.supervisor = sides.callers;
  return sides;
}

Result<worker::WorkerProcess> launch_worker(const BenchRow& row, const placement::Seat& seat) {
  const emulators::Program program = program_for(row);
  auto worker = worker::WorkerProcess::launch({.worker_path = program_path("sidecall-worker"),
                                               .sandbox = "bench",
                                               .cpus = seat.cpus,
                                               .program = &program});
  for (;;) {
    if (!worker) return worker;
    auto report = worker->receive_report();
    if (!report) return pass_on(std::move(report));
    if (report->kind == worker::WorkerReport::Kind::kReady) return worker;
    if (report->kind == worker::WorkerReport::Kind::kEnded) {
      return failure("sidecall-worker could not start: " + report->text);
    }
  }
}

}  // namespace

Result<RunningRow> RunningRow::start(const BenchRow& row, int number) {
  const auto all = placement::sandbox_cpus(::getpid());
  if (!all) return tl::unexpected<Error>(all.error());
  const Sides cpus = cpus_for(row.where, *all);
  auto filter = filter_for(row);
  if (!filter) return pass_on(std::move(filter));

  RunningRow running;
  running.cgroup_ = BenchCgroup::make("sidecall-bench-" + std::to_string(::getpid()) + "-" +
                                      std::to_string(number));
  placement::Seat seat{.cpus = cpus.callers, .cpu_cgroup = running.cgroup_.path()};
  auto caller = BenchCaller::start({.call = row.call,
                                    .callers = row.callers,
                                    .processes = row.processes,
                                    .contained = row.contained,
                                    .seat = seat},
                                   *std::move(filter));
  if (!caller) return pass_on(std::move(caller));
  running.caller_.emplace(*std::move(caller));

  seat.cpus = cpus.supervisor;
  Result<void> served;
  if (row.by == BenchRow::By::kFloor) served = running.serve_by_floor(row, seat);
  if (row.by == BenchRow::By::kWorker) served = running.serve_by_worker(row, seat);
  if (!served) return pass_on(std::move(served));
  if (row.where == BenchRow::Where::kEveryCpu && row.by != BenchRow::By::kKernel) {
    running.free_on_ = *all;
  }
  return running;
}

Result<double> RunningRow::run(int calls) {
  if (auto parted = part(); !parted) return pass_on(std::move(parted));
  return caller_->run(calls, [this] { return release(); });
}

Result<double> RunningRow::run_timed(int calls) {
  if (auto parted = part(); !parted) return pass_on(std::move(parted));
  return caller_->run_timed(calls, [this] { return release(); });
}

Result<void> RunningRow::place(const placement::CpuSet& callers,
                               const placement::CpuSet& supervisor) {
  auto placed = placement::place_process(caller_->pid(), callers);
  return placed ? placement::place_process(supervisor_, supervisor) : placed;
}

Result<void> RunningRow::part() {
  if (free_on_.empty()) return {};
  const Sides cpus = apart(free_on_);
  return place(cpus.callers, cpus.supervisor);
}

Result<void> RunningRow::release() {
  return free_on_.empty() ? Result<void>() : place(free_on_, free_on_);
}

// It ends when its callers have.
Result<void> RunningRow::serve_by_floor(const BenchRow& row, const placement::Seat& seat) {
  const UniqueFd listener = std::move(caller_->listener());
  const unsigned long spins =
      row.work_us > 0 ? floor_spins_per_microsecond() * static_cast<unsigned long>(row.work_us) : 0;
  const pid_t pid = ::fork();
  if (pid < 0) return errno_failure("forking");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const UniqueFd source(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const FloorJob job{
        .reply = row.reply, .value = kBenchValue, .source = source.get(), .spins = spins};
    auto handle = kernel::open_listener(UniqueFd(::dup(listener.get())));
    if (!handle || !(*handle)->set_sync_wake_up(row.sync)) ::_exit(1);
    ::_exit(floor_serve(listener.get(), &job));
  }
  supervisor_ = pid;
  return placement::take_seat(pid, seat, "");
}

Result<void> RunningRow::serve_by_worker(const BenchRow& row, const placement::Seat& seat) {
  auto worker = launch_worker(row, seat);
  if (!worker) return pass_on(std::move(worker));
  const UniqueFd listener = std::move(caller_->listener());
  auto added = worker->add_listener(listener.get(), 1, caller_->pid(), caller_->pid());
  if (!added) return added;
  worker_.emplace(*std::move(worker));
  supervisor_ = worker_->pid();
  return placement::take_seat(supervisor_, seat, "");
}

RunningRow::~RunningRow() {
  caller_.reset();
  if (worker_ && worker_->finish()) {
    pollfd ended{.fd = worker_->pidfd(), .events = POLLIN, .revents = 0};
    if (::poll(&ended, 1, kGraceMilliseconds) == 1) ::waitpid(worker_->pid(), nullptr, WNOHANG);
  }
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace sidecall::cli
