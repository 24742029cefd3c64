// What a served call costs against the bare loop of floor.c, placed the same way, in one run.
//
// Every row has a caller and a supervisor of its own. The rows take turns, `kRounds` times, so that
// whatever else the machine does falls on all of them; the least of each is compared, and the
// median is printed beside it.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/caller.h"
#include "bench/floor.h"
#include "emulators/program.h"
#include "kernel/listener.h"
#include "worker/launch.h"

namespace sidecall::bench {
namespace {

constexpr int kRounds = 15;
constexpr int kCalls = 4000;
constexpr long kAnswer = 4242;

#if defined(__x86_64__)
constexpr kernel::Abi kNative = kernel::Abi::kX86_64;
#else
constexpr kernel::Abi kNative = kernel::Abi::kAArch64;
#endif

struct Row {
  std::string name{};
  std::unique_ptr<Caller> caller{};
  std::unique_ptr<worker::WorkerProcess> worker{};  // or
  pid_t floor = 0;
  std::vector<double> means{};

  [[nodiscard]] double least() const { return *std::min_element(means.begin(), means.end()); }
  [[nodiscard]] double median() const {
    auto sorted = means;
    std::nth_element(sorted.begin(), sorted.begin() + kRounds / 2, sorted.end());
    return sorted[kRounds / 2];
  }
};

struct Placing {
  std::string name;
  placement::CpuSet cpus;  // of caller and supervisor alike
  bool sync = true;
};

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "call_cost: %s\n", why.c_str());
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (!result) stop(result.error().message);
  return std::move(*result);
}

bool call_getppid() {
  return ::syscall(SYS_getppid) == kAnswer;
}
bool call_sysinfo() {
  struct sysinfo info {};
  return ::sysinfo(&info) == 0;
}
bool call_uname() {
  utsname names{};
  return ::uname(&names) == 0;
}
bool call_mknod() {
  const std::string path = "/dev/shm/sidecall-bench-" + std::to_string(::getpid());
  const bool made = ::mknod(path.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) == 0;
  return ::unlink(path.c_str()) == 0 && made;
}

emulators::Program program_for(const std::string& emulator, int nr, bool sync) {
  emulators::Program program;
  program.policy = "bench";
  program.sync_wake_up = sync;
  emulators::Rule rule;
  if (emulator.empty()) {
    rule.action = emulators::Rule::Action::kValue;
    rule.number = kAnswer;
  } else {
    rule.action = emulators::Rule::Action::kEmulate;
    emulators::Options options;
    // glibc calls mknodat, the second member, for both.
    if (emulator == "mknod") rule.member = 1;
    if (emulator == "mknod") options["devices"] = std::vector<std::string>{"c 1:3"};
    if (emulator == "uname") options["release"] = std::string("5.10.0");
    program.instances.push_back({.emulator = emulator, .options = std::move(options)});
  }
  program.routes.push_back({.abi = kNative, .nr = nr, .name = "bench", .rules = {rule}});
  return program;
}

Row floor_row(const Placing& placing) {
  Row row{.name = "bare RECV/SEND loop, " + placing.name};
  row.caller =
      std::make_unique<Caller>(must(Caller::start(SYS_getppid, placing.cpus, call_getppid)));
  const UniqueFd listener = row.caller->take_listener();
  row.floor = ::fork();
  if (row.floor == 0) {
    ::sched_setaffinity(0, sizeof(cpu_set_t), &placing.cpus.mask());
    auto handle = must(kernel::open_listener(UniqueFd(::dup(listener.get()))));
    if (auto set = handle->set_sync_wake_up(placing.sync); !set && placing.sync) {
      std::fprintf(stderr, "call_cost: no synchronous wake-up on this kernel\n");
    }
    std::exit(floor_serve(listener.get(), kAnswer));
  }
  return row;
}

Row served_row(const std::string& what, const Placing& placing, const std::string& emulator, int nr,
               const std::function<bool()>& call) {
  Row row{.name = "sidecall " + what + ", " + placing.name};
  row.caller = std::make_unique<Caller>(must(Caller::start(nr, placing.cpus, call)));
  const UniqueFd listener = row.caller->take_listener();
  const auto program = program_for(emulator, nr, placing.sync);
  row.worker = std::make_unique<worker::WorkerProcess>(
      must(worker::WorkerProcess::launch({.worker_path = SIDECALL_WORKER,
                                          .sandbox = "bench",
                                          .cpus = placing.cpus,
                                          .program = &program})));
  if (must(row.worker->receive_report()).kind != worker::WorkerReport::Kind::kReady) {
    stop("the worker did not start");
  }
  if (auto added =
          row.worker->add_listener(listener.get(), 1, row.caller->pid(), row.caller->pid());
      !added) {
    stop(added.error().message);
  }
  return row;
}

Row native_row(const std::string& what, const Placing& placing, const std::function<bool()>& call) {
  Row row{.name = what + " without sidecall"};
  // getppid is notified and not called.
  row.caller = std::make_unique<Caller>(must(Caller::start(SYS_getppid, placing.cpus, call)));
  return row;
}

void print(const std::vector<Row>& rows, double floor) {
  std::printf("%-52s %9s %9s %7s\n", "", "least", "median", "/floor");
  for (const Row& row : rows) {
    std::printf("%-52s %6.2f us %6.2f us %7.2f\n", row.name.c_str(), row.least() / 1000,
                row.median() / 1000, row.least() / floor);
  }
}

void run() {
  cpu_set_t all;
  ::sched_getaffinity(0, sizeof all, &all);
  const placement::CpuSet every(all);
  const unsigned first = static_cast<unsigned>(std::stoul(every.list()));
  const Placing one{.name = "one CPU, sync",
                    .cpus = must(placement::CpuSet::parse(std::to_string(first))),
                    .sync = true};
  const Placing many{.name = "every CPU, sync", .cpus = every, .sync = true};
  const Placing plain{.name = "every CPU, no sync", .cpus = every, .sync = false};

  std::vector<Row> rows;
  rows.push_back(floor_row(one));
  rows.push_back(served_row("value", one, "", SYS_getppid, call_getppid));
  rows.push_back(served_row("sysinfo", one, "sysinfo", SYS_sysinfo, call_sysinfo));
  rows.push_back(served_row("uname", one, "uname", SYS_uname, call_uname));
  rows.push_back(served_row("mknod+unlink", one, "mknod", SYS_mknodat, call_mknod));
  rows.push_back(native_row("mknod+unlink", one, call_mknod));
  rows.push_back(floor_row(many));
  rows.push_back(served_row("value", many, "", SYS_getppid, call_getppid));
  rows.push_back(floor_row(plain));
  rows.push_back(served_row("value", plain, "", SYS_getppid, call_getppid));

  for (int round = 0; round < kRounds; ++round) {
    for (Row& row : rows) row.means.push_back(must(row.caller->run(kCalls)));
  }
  print(rows, rows[0].least());
  std::printf("\nregister-only / floor: one CPU %.3f, every CPU %.3f\n",
              rows[1].least() / rows[0].least(), rows[7].least() / rows[6].least());
  std::printf("no sync, every CPU / sync, placed on the caller's CPU: %.2f\n",
              rows[9].least() / rows[1].least());
}

}  // namespace
}  // namespace sidecall::bench

int main() {
  sidecall::bench::run();
}
