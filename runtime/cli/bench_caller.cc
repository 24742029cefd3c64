#include "cli/bench_caller.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <limits>
#include <thread>

#include "base/file.h"
#include "base/pass_fd.h"

namespace sidecall::cli {
namespace {

struct Order {
  int calls = 0;
  bool timed = false;
};
struct Outcome {
  std::int64_t begun = 0;  // both in nanoseconds of the monotonic clock
  std::int64_t ended = 0;
};

constexpr int kBroken = 125;
constexpr int kUncounted = 60;

std::int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

struct Line {
  UniqueFd ours;
  UniqueFd theirs;
};

Result<Line> make_line() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_failure("making a socket pair");
  }
  return Line{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A caller: obeys until its line is closed.
int obey(int line, BenchCall call, Latencies& latencies) {
  const BenchCalls calls(call);
  Order order;
  while (::read(line, &order, sizeof order) == sizeof order) {
    for (int made = 0; made < kUncounted; ++made) {
      if (!calls.make_one()) return kBroken;
    }
    Outcome outcome{.begun = now()};
    std::int64_t last = outcome.begun;
    for (int made = 0; made < order.calls; ++made) {
      if (!calls.make_one()) return kBroken;
      if (!order.timed) continue;
      const auto time = now();
      latencies.add(static_cast<std::uint64_t>(time - std::exchange(last, time)));
    }
    outcome.ended = now();
    if (::write(line, &outcome, sizeof outcome) != sizeof outcome) return kBroken;
  }
  return 0;
}

// The callers' first process: has `parent` map its ids and place it, takes the filter, and starts
// the callers, which inherit all that.
class FirstProcess {
 public:
  FirstProcess(const BenchCallerSpec& spec, Filter& filter, int parent, std::vector<Line>& lines,
               Latencies& latencies)
      : spec_(spec), filter_(filter), parent_(parent), lines_(lines), latencies_(latencies) {}

  int run() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (Line& line : lines_) line.ours.reset();
    char token = 0;
    if (spec_.contained && ::unshare(CLONE_NEWUSER) != 0) return kBroken;
    if (::write(parent_, &token, 1) != 1 || ::read(parent_, &token, 1) != 1) return kBroken;
    if (spec_.contained && !become_root()) return kBroken;
    ::sched_setaffinity(0, sizeof(cpu_set_t), &spec_.seat.cpus.mask());
    auto listener = filter_.install();
    if (!listener || !send_with_fd(parent_, "ok", listener->get())) return kBroken;
    listener->reset();
    return spec_.processes ? run_processes() : run_threads();
  }

 private:
  // The first user of the namespace. Changing ids takes away what the worker's access and our end
  // with the parent hang on.
  static bool become_root() {
    const bool changed = ::setresgid(0, 0, 0) == 0 && ::setresuid(0, 0, 0) == 0;
    ::prctl(PR_SET_DUMPABLE, 1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return changed;
  }

  int run_threads() {
    std::vector<std::thread> threads;
    for (const Line& line : lines_) {
      threads.emplace_back([this, fd = line.theirs.get()] {
        if (obey(fd, spec_.call, latencies_) != 0) ::_exit(kBroken);
      });
    }
    for (auto& thread : threads) thread.join();
    return 0;
  }

  int run_processes() {
    for (std::size_t index = 0; index < lines_.size(); ++index) {
      if (::fork() != 0) continue;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (std::size_t other = 0; other < lines_.size(); ++other) {
        if (other != index) lines_[other].theirs.reset();
      }
      return obey(lines_[index].theirs.get(), spec_.call, latencies_);
    }
    for (Line& line : lines_) line.theirs.reset();
    while (::wait(nullptr) > 0) {
    }
    return 0;
  }

  const BenchCallerSpec& spec_;
  Filter& filter_;
  int parent_;
  std::vector<Line>& lines_;
  Latencies& latencies_;
};

Result<void> write_map(const std::string& path, std::string_view text) {
  const auto file = open_file(path, O_WRONLY);
  if (!file) return tl::unexpected<Error>(file.error());
  return write_fd(file->get(), text);
}

// As engines do for root; without privileges, the one id that anybody may map.
Result<void> map_ids(pid_t pid) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/";
  const bool is_root = ::geteuid() == 0;
  const auto map = [&](unsigned id) {
    return is_root ? std::string("0 100000 65536") : "0 " + std::to_string(id) + " 1";
  };
  if (!is_root) {
    if (auto denied = write_map(directory + "setgroups", "deny"); !denied) return denied;
  }
  if (auto written = write_map(directory + "uid_map", map(::geteuid())); !written) return written;
  return write_map(directory + "gid_map", map(::getegid()));
}

}  // namespace

void BenchCaller::Unmap::operator()(Latencies* latencies) const {
  ::munmap(latencies, sizeof *latencies);
}

Result<BenchCaller> BenchCaller::start(const BenchCallerSpec& spec, Filter filter) {
  BenchCaller caller;
  void* memory =
      ::mmap(nullptr, sizeof(Latencies), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno_failure("mmap");
  caller.latencies_.reset(new (memory) Latencies);

  std::vector<Line> lines;
  for (int index = 0; index < spec.callers; ++index) {
    auto line = make_line();
    if (!line) return pass_on(std::move(line));
    lines.push_back(*std::move(line));
  }
  auto control = make_line();
  if (!control) return pass_on(std::move(control));

  const pid_t pid = ::fork();
  if (pid < 0) return errno_failure("forking");
  if (pid == 0) {
    control->ours.reset();
    ::_exit(FirstProcess(spec, filter, control->theirs.get(), lines, *caller.latencies_).run());
  }
  caller.pid_ = pid;
  control->theirs.reset();
  for (Line& line : lines) caller.lines_.push_back(std::move(line.ours));

  char token = 0;
  if (::read(control->ours.get(), &token, 1) != 1) return failure("no user namespace to be had");
  if (spec.contained) {
    if (auto mapped = map_ids(pid); !mapped) return pass_on(std::move(mapped));
  }
  if (auto placed = placement::take_seat(pid, spec.seat, ""); !placed) {
    return pass_on(std::move(placed));
  }
  if (::write(control->ours.get(), &token, 1) != 1) return failure("a caller died");
  auto received = receive_with_fds(control->ours.get(), 16);
  if (!received || received->bytes != "ok") return failure("a caller could not set its filter");
  if (!received->fds.empty()) caller.listener_ = std::move(received->fds.front());
  return caller;
}

BenchCaller::~BenchCaller() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<double> BenchCaller::order(int calls, bool timed,
                                  const std::function<Result<void>()>& begun) {
  const Order order{.calls = calls, .timed = timed};
  for (const UniqueFd& line : lines_) {
    if (::send(line.get(), &order, sizeof order, MSG_NOSIGNAL) != sizeof order) {
      return failure("a caller has died");
    }
  }
  if (auto done = begun(); !done) return pass_on(std::move(done));
  Outcome all{.begun = std::numeric_limits<std::int64_t>::max()};
  for (const UniqueFd& line : lines_) {
    Outcome outcome;
    if (::read(line.get(), &outcome, sizeof outcome) != sizeof outcome) {
      return failure("a caller got a wrong answer or died");
    }
    all.begun = std::min(all.begun, outcome.begun);
    all.ended = std::max(all.ended, outcome.ended);
  }
  const auto made = static_cast<double>(calls) * static_cast<double>(lines_.size());
  return static_cast<double>(all.ended - all.begun) / made;
}

Result<double> BenchCaller::run(int calls, const std::function<Result<void>()>& begun) {
  return order(calls, false, begun);
}

Result<double> BenchCaller::run_timed(int calls, const std::function<Result<void>()>& begun) {
  return order(calls, true, begun);
}

}  // namespace sidecall::cli
