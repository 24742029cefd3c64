#include "cli/run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>

#include "base/paths.h"
#include "cli/command.h"
#include "cli/filter.h"
#include "cli/filtered_child.h"
#include "cli/policy_argument.h"
#include "cli/statistics_table.h"
#include "placement/placement.h"
#include "worker/launch.h"

namespace sidecall::cli {
namespace {

constexpr int kMostRestarts = 3;
constexpr std::uint64_t kTag = 1;
constexpr int kGraceMilliseconds = 200;

// Signals as a stream, so that none arrives where it is not expected.
class Signals {
 public:
  static Result<Signals> block() {
    Signals signals;
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number :
         {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT}) {
      ::sigaddset(&set, number);
    }
    if (::sigprocmask(SIG_BLOCK, &set, &signals.before_) != 0) return errno_failure("sigprocmask");
    signals.fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC));
    if (!signals.fd_) return errno_failure("signalfd");
    return signals;
  }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
  UniqueFd fd_;
};

class Run {
 public:
  Run(FilteredChild child, emulators::Program program)
      : child_(std::move(child)), program_(std::move(program)) {}

  Result<void> start_worker() {
    auto cpus = placement::sandbox_cpus(child_.pid());
    if (!cpus) return pass_on(std::move(cpus));
    auto worker =
        worker::WorkerProcess::launch({.worker_path = program_path("sidecall-worker"),
                                       .sandbox = "run-" + std::to_string(child_.pid()),
                                       .cpus = *cpus,
                                       .program = &program_,
                                       .predecessor = worker_ ? &worker_->statistics() : nullptr});
    if (!worker) return pass_on(std::move(worker));
    for (;;) {
      auto report = worker->receive_report();
      if (!report) return pass_on(std::move(report));
      if (report->kind == worker::WorkerReport::Kind::kReady) break;
      if (report->kind == worker::WorkerReport::Kind::kEnded) {
        return failure("sidecall-worker could not start" +
                       (report->text.empty() ? "" : ": " + report->text));
      }
      say(report->text);
    }
    auto added = worker->add_listener(child_.listener(), kTag, child_.pid(), child_.pid());
    if (!added) return added;
    worker_.emplace(*std::move(worker));
    return {};
  }

  // Until the command has ended; its wait status.
  Result<int> serve(const Signals& signals) {
    for (;;) {
      std::array<pollfd, 2> waiting = {
          pollfd{.fd = signals.fd(), .events = POLLIN, .revents = 0},
          pollfd{.fd = worker_->control_fd(), .events = POLLIN, .revents = 0}};
      if (::poll(waiting.data(), waiting.size(), -1) < 0) {
        if (errno == EINTR) continue;
        return errno_failure("poll");
      }
      if (waiting[0].revents != 0) {
        if (const auto status = take_signal(signals)) return *status;
      }
      if (waiting[1].revents != 0) {
        if (auto taken = take_report(); !taken) return pass_on(std::move(taken));
      }
    }
  }

  // A worker with nothing left to serve ends at once, and is reaped: not every init does that. One
  // that still serves what the command left running is left alone.
  void finish() {
    if (!worker_->finish()) return;
    pollfd ended{.fd = worker_->pidfd(), .events = POLLIN, .revents = 0};
    if (::poll(&ended, 1, kGraceMilliseconds) == 1) ::waitpid(worker_->pid(), nullptr, WNOHANG);
  }

  FilteredChild& child() { return child_; }
  [[nodiscard]] const worker::Statistics& statistics() const { return worker_->statistics(); }

 private:
  std::optional<int> take_signal(const Signals& signals) {
    signalfd_siginfo info{};
    if (::read(signals.fd(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
    if (info.ssi_signo == SIGCHLD) {
      int status = 0;
      if (::waitpid(child_.pid(), &status, WNOHANG) == child_.pid()) return status;
    } else if (info.ssi_code != SI_KERNEL) {
      // The terminal's own go to the whole foreground group, of which the command is one.
      ::kill(child_.pid(), static_cast<int>(info.ssi_signo));
    }
    return std::nullopt;
  }

  // We hold the listener, so that the calls of a dead worker wait for the next one.
  Result<void> take_report() {
    auto report = worker_->receive_report();
    if (!report) return pass_on(std::move(report));
    if (report->kind == worker::WorkerReport::Kind::kMessage) say(report->text);
    if (report->kind != worker::WorkerReport::Kind::kEnded) return {};
    if (++restarts_ > kMostRestarts) return failure("sidecall-worker keeps dying");
    say("sidecall-worker died; starting another");
    return start_worker();
  }

  FilteredChild child_;
  emulators::Program program_;
  std::optional<worker::WorkerProcess> worker_;
  int restarts_ = 0;
};

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<int> run(const RunRequest& request) {
  auto program = policy::compile_program(request.policy);
  if (!program) return pass_on(std::move(program), "policy \"" + request.policy.name + "\"");
  if (!program->remotes.empty()) {
    return failure("policy \"" + request.policy.name +
                   "\" has remote rules: their plugins are reached through sidecalld alone, so run "
                   "the command in a container");
  }
  auto compiled = compile_over(request.policy, request.base);
  if (!compiled) return pass_on(std::move(compiled));
  auto filter = Filter::build(compiled->profile);
  if (!filter) return pass_on(std::move(filter));
  auto signals = Signals::block();
  if (!signals) return pass_on(std::move(signals));
  auto child = FilteredChild::start(*filter, request.command, signals->before());
  if (!child) return pass_on(std::move(child));

  Run running(*std::move(child), *std::move(program));
  if (auto started = running.start_worker(); !started) return pass_on(std::move(started));
  if (auto executed = running.child().release(); !executed) {
    const int number = executed.error().number.value;
    say(request.command.front() + ": " + std::strerror(number));
    return number == ENOENT ? kNotFound : kCannotExecute;
  }
  auto status = running.serve(*signals);
  if (!status) {
    ::kill(running.child().pid(), SIGKILL);
    return pass_on(std::move(status));
  }
  running.finish();
  if (request.show_statistics) {
    const std::string table = statistics_table(figures_of(running.statistics()));
    ::fflush(stdout);
    ::fwrite(table.data(), 1, table.size(), stderr);
  }
  return exit_status(*status);
}

}  // namespace sidecall::cli
