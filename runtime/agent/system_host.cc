#include "agent/system_host.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "placement/cgroup.h"
#include "policy/compile.h"
#include "policy/policy.h"

namespace sidecall::agent {
namespace {

class SystemWorker final : public Worker {
 public:
  explicit SystemWorker(worker::WorkerProcess process)
      : process_(std::make_shared<worker::WorkerProcess>(std::move(process))) {}

  pid_t pid() const override { return process_->pid(); }
  int pidfd() const override { return process_->pidfd(); }
  int control_fd() const override { return process_->control_fd(); }
  std::shared_ptr<const worker::Statistics> statistics() const override {
    return {process_, &process_->statistics()};
  }
  Result<void> add_listener(int listener, std::uint64_t tag, pid_t pid, pid_t first_pid) override {
    return process_->add_listener(listener, tag, pid, first_pid);
  }
  Result<void> finish() override { return process_->finish(); }
  Result<void> retire() override { return process_->retire(); }
  Result<worker::WorkerReport> receive_report() override { return process_->receive_report(); }
  void kill() override { ::syscall(SYS_pidfd_send_signal, process_->pidfd(), SIGKILL, nullptr, 0); }
  Ending reap() override {
    siginfo_t info{};
    const auto pidfd = static_cast<id_t>(process_->pidfd());
    if (::waitid(P_PIDFD, pidfd, &info, WEXITED | WNOHANG) != 0) {
      // Launched by an agent before us: its status was for whoever adopted it.
      if (errno == ECHILD) return {.text = "how it ended is not known", .orderly = true};
      return {.text = errno_name(errno)};
    }
    const bool exited = info.si_code == CLD_EXITED;
    return {.text = (exited ? "exit status " : "signal ") + std::to_string(info.si_status),
            .by_itself = exited || info.si_status != SIGKILL,
            .orderly = exited && info.si_status == 0};
  }

 private:
  std::shared_ptr<worker::WorkerProcess> process_;
};

}  // namespace

SystemHost::SystemHost(std::string policy_directory, std::string worker_path,
                       placement::Charge charge)
    : policy_directory_(std::move(policy_directory)),
      worker_path_(std::move(worker_path)),
      charge_(charge) {
  const auto own = placement::find_cgroup(::getpid(), "cpu");
  if (own && *own) own_cgroup_ = (*own)->path;
}

Result<emulators::Program> SystemHost::load_program(std::string_view policy) {
  auto loaded = policy::load_policy(policy_directory_, policy);
  if (!loaded) return pass_on(std::move(loaded));
  return policy::compile_program(*loaded);
}

Result<std::unique_ptr<Worker>> SystemHost::launch(const std::string& sandbox,
                                                   const emulators::Program& program,
                                                   const placement::Seat& seat,
                                                   const worker::Statistics* predecessor) {
  auto process = worker::WorkerProcess::launch({.worker_path = worker_path_,
                                                .sandbox = sandbox,
                                                .cpus = seat.cpus,
                                                .program = &program,
                                                .predecessor = predecessor});
  if (!process) return pass_on(std::move(process));
  // A worker that stands still must not make the loop stand still: telling it then fails instead.
  if (::fcntl(process->control_fd(), F_SETFL, O_NONBLOCK) != 0) {
    return errno_failure("setting up a worker's control socket");
  }
  return std::make_unique<SystemWorker>(std::move(*process));
}

Result<std::unique_ptr<Worker>> SystemHost::adopt(UniqueFd process, UniqueFd control,
                                                  UniqueFd memory) {
  auto adopted =
      worker::WorkerProcess::adopt(std::move(process), std::move(control), std::move(memory));
  if (!adopted) return pass_on(std::move(adopted));
  return std::make_unique<SystemWorker>(std::move(*adopted));
}

Result<placement::Seat> SystemHost::sandbox_seat(pid_t pid, bool busy) {
  return placement::sandbox_seat(pid, charge_, busy);
}

Result<void> SystemHost::place(pid_t worker, const placement::Seat& seat) {
  return placement::take_seat(worker, seat, own_cgroup_);
}

bool SystemHost::is_alive(pid_t pid) {
  return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
}

}  // namespace sidecall::agent
