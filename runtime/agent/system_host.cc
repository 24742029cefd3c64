#include "agent/system_host.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "placement/cgroup.h"
#include "policy/compile.h"
#include "policy/policy.h"

namespace sidecall::agent {
namespace {

void kill_process(int pidfd) {
  ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
}

Ending reap_process(int pidfd) {
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) != 0) {
    // Launched by an agent before us: its status was for whoever adopted it.
    if (errno == ECHILD) return {.text = "how it ended is not known", .orderly = true};
    return {.text = errno_name(errno)};
  }
  const bool exited = info.si_code == CLD_EXITED;
  return {.text = (exited ? "exit status " : "signal ") + std::to_string(info.si_status),
          .by_itself = exited || info.si_status != SIGKILL,
          .orderly = exited && info.si_status == 0};
}

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
  Result<void> connect_bridge(int socket, std::uint64_t generation, std::uint32_t plugin) override {
    return process_->connect_bridge(socket, generation, plugin);
  }
  Result<void> finish() override { return process_->finish(); }
  Result<void> retire() override { return process_->retire(); }
  Result<worker::WorkerReport> receive_report() override { return process_->receive_report(); }
  void kill() override { kill_process(process_->pidfd()); }
  Ending reap() override { return reap_process(process_->pidfd()); }

 private:
  std::shared_ptr<worker::WorkerProcess> process_;
};

class SystemBridge final : public Bridge {
 public:
  explicit SystemBridge(bridge::BridgeProcess process) : process_(std::move(process)) {}

  pid_t pid() const override { return process_.pid(); }
  int pidfd() const override { return process_.pidfd(); }
  int control_fd() const override { return process_.control_fd(); }
  Result<void> tell(bridge::ToBridge::Kind kind, std::uint32_t plugin, int fd) override {
    return process_.tell(kind, plugin, fd);
  }
  Result<bridge::BridgeReport> receive_report() override { return process_.receive_report(); }
  void kill() override { kill_process(process_.pidfd()); }
  Ending reap() override { return reap_process(process_.pidfd()); }

 private:
  bridge::BridgeProcess process_;
};

}  // namespace

SystemHost::SystemHost(std::string policy_directory, std::string worker_path,
                       std::string bridge_path, placement::Charge charge)
    : policy_directory_(std::move(policy_directory)),
      worker_path_(std::move(worker_path)),
      bridge_path_(std::move(bridge_path)),
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

Result<std::unique_ptr<Bridge>> SystemHost::launch_bridge(const bridge::Settings& settings,
                                                          const placement::Seat& seat) {
  auto process = bridge::BridgeProcess::launch(
      {.bridge_path = bridge_path_, .cpus = seat.cpus, .settings = &settings});
  if (!process) return pass_on(std::move(process));
  return std::make_unique<SystemBridge>(std::move(*process));
}

Result<std::unique_ptr<Bridge>> SystemHost::adopt_bridge(UniqueFd process, UniqueFd control) {
  auto adopted = bridge::BridgeProcess::adopt(std::move(process), std::move(control));
  if (!adopted) return pass_on(std::move(adopted));
  return std::make_unique<SystemBridge>(std::move(*adopted));
}

// A plugin whose queue is full is not waited for.
Result<UniqueFd> SystemHost::connect_plugin(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return failure(path + ": too long for a socket");
  path.copy(address.sun_path, path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::connect(socket.get(), generic, sizeof address) != 0) {
    return errno_failure("connecting to " + path);
  }
  return socket;
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
