#include "unit/agent/fake_host.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace sidecall::agent {
namespace {

struct Packet {
  worker::WorkerReport::Kind kind{};
  std::uint64_t tag = 0;
};

class FakeWorker final : public Worker {
 public:
  explicit FakeWorker(std::shared_ptr<FakeProcess> process) : process_(std::move(process)) {}
  ~FakeWorker() override { process_->agent_end.reset(); }

  pid_t pid() const override { return process_->pid; }
  int pidfd() const override { return process_->exited.get(); }
  int control_fd() const override { return process_->agent_end.get(); }
  std::shared_ptr<const worker::Statistics> statistics() const override { return process_->memory; }
  Result<void> add_listener(int /*listener*/, std::uint64_t tag, pid_t pid,
                            pid_t first_pid) override {
    if (!process_->takes_listeners) return failure("its control socket is full");
    process_->handed.push_back({tag, pid, first_pid});
    return {};
  }
  Result<void> connect_bridge(int /*socket*/, std::uint64_t generation,
                              std::uint32_t /*plugin*/) override {
    process_->bridged.push_back(generation);
    return {};
  }
  Result<void> finish() override {
    process_->finished = true;
    return {};
  }
  Result<void> retire() override {
    process_->retired = true;
    return {};
  }
  Result<worker::WorkerReport> receive_report() override {
    Packet packet;
    const ssize_t count = ::read(control_fd(), &packet, sizeof packet);
    if (count < 0) return errno_failure("reading");
    if (count == 0) return worker::WorkerReport{.kind = worker::WorkerReport::Kind::kEnded};
    return worker::WorkerReport{.kind = packet.kind, .tag = packet.tag, .text = "its last words"};
  }
  void kill() override {
    process_->killed = true;
    if (process_->exits_when_killed) process_->exit();
  }
  Ending reap() override {
    const bool killed = process_->killed || process_->killed_by_others;
    if (process_->retired && !killed) return {.text = "exit status 0", .orderly = true};
    return {.text = killed ? "signal 9" : "exit status 3", .by_itself = !killed};
  }

 private:
  std::shared_ptr<FakeProcess> process_;
};

struct BridgePacket {
  bridge::BridgeReport::Kind kind{};
  std::uint32_t plugin = 0;
};

class FakeBridge final : public Bridge {
 public:
  explicit FakeBridge(std::shared_ptr<FakeBridgeProcess> process) : process_(std::move(process)) {}
  ~FakeBridge() override { process_->agent_end.reset(); }

  pid_t pid() const override { return process_->pid; }
  int pidfd() const override { return process_->exited.get(); }
  int control_fd() const override { return process_->agent_end.get(); }
  Result<void> tell(bridge::ToBridge::Kind kind, std::uint32_t plugin, int fd) override {
    process_->told.push_back({kind, plugin, fd >= 0});
    return {};
  }
  Result<bridge::BridgeReport> receive_report() override {
    BridgePacket packet;
    const ssize_t count = ::read(control_fd(), &packet, sizeof packet);
    if (count <= 0) return bridge::BridgeReport{.kind = bridge::BridgeReport::Kind::kEnded};
    return bridge::BridgeReport{.kind = packet.kind, .plugin = packet.plugin, .text = "a word"};
  }
  void kill() override {
    process_->killed = true;
    process_->exit();
  }
  Ending reap() override { return {.text = "signal 9"}; }

 private:
  std::shared_ptr<FakeBridgeProcess> process_;
};

}  // namespace

FakeBridgeProcess::FakeBridgeProcess(pid_t number)
    : pid(number), exited(::eventfd(0, EFD_CLOEXEC)) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
  agent_end = UniqueFd(ends[0]);
  bridge_end = UniqueFd(ends[1]);
}

void FakeBridgeProcess::report(bridge::BridgeReport::Kind kind, std::uint32_t plugin) {
  const BridgePacket packet{kind, plugin};
  if (::send(bridge_end.get(), &packet, sizeof packet, MSG_NOSIGNAL) < 0) std::abort();
}

void FakeBridgeProcess::exit() {
  bridge_end.reset();
  ::eventfd_write(exited.get(), 1);
}

FakeProcess::FakeProcess(pid_t number, std::string for_sandbox, std::string under_policy)
    : pid(number),
      sandbox(std::move(for_sandbox)),
      policy(std::move(under_policy)),
      exited(::eventfd(0, EFD_CLOEXEC)) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
  agent_end = UniqueFd(ends[0]);
  worker_end = UniqueFd(ends[1]);
}

void FakeProcess::report(worker::WorkerReport::Kind kind, std::uint64_t tag) {
  const Packet packet{kind, tag};
  if (::send(worker_end.get(), &packet, sizeof packet, MSG_NOSIGNAL) < 0) std::abort();
}

void FakeProcess::exit() {
  worker_end.reset();
  ::eventfd_write(exited.get(), 1);
}

Result<emulators::Program> FakeHost::load_program(std::string_view policy) {
  if (policies.count(policy) == 0) return failure("no policy \"" + std::string(policy) + "\"");
  emulators::Program program;
  program.policy = policy;
  program.plugins = plugins;
  return program;
}

Result<std::unique_ptr<Worker>> FakeHost::launch(const std::string& sandbox,
                                                 const emulators::Program& program,
                                                 const placement::Seat& /*seat*/,
                                                 const worker::Statistics* /*predecessor*/) {
  if (!launches) return failure("no such program");
  const auto pid = static_cast<pid_t>(1000 + workers.size());
  workers.push_back(std::make_shared<FakeProcess>(pid, sandbox, program.policy));
  workers.back()->memory = memory;
  return std::make_unique<FakeWorker>(workers.back());
}

Result<std::unique_ptr<Worker>> FakeHost::adopt(UniqueFd process, UniqueFd /*control*/,
                                                UniqueFd /*memory*/) {
  if (!process) return failure("a descriptor of its worker is missing");
  workers.push_back(std::move(orphans.front()));
  workers.back()->memory = memory;
  orphans.pop_front();
  return std::make_unique<FakeWorker>(workers.back());
}

Result<std::unique_ptr<Bridge>> FakeHost::launch_bridge(const bridge::Settings& /*settings*/,
                                                        const placement::Seat& /*seat*/) {
  const auto pid = static_cast<pid_t>(2000 + bridges.size());
  bridges.push_back(std::make_shared<FakeBridgeProcess>(pid));
  return std::make_unique<FakeBridge>(bridges.back());
}

Result<std::unique_ptr<Bridge>> FakeHost::adopt_bridge(UniqueFd process, UniqueFd /*control*/) {
  if (!process) return failure("a descriptor of its bridge is missing");
  bridges.push_back(std::move(orphaned_bridges.front()));
  orphaned_bridges.pop_front();
  return std::make_unique<FakeBridge>(bridges.back());
}

Result<UniqueFd> FakeHost::connect_plugin(const std::string& path) {
  if (!has_plugins) return failure("connecting to " + path + ": no such file");
  return UniqueFd(::eventfd(0, EFD_CLOEXEC));
}

Result<placement::Seat> FakeHost::sandbox_seat(pid_t pid, bool /*busy*/) {
  if (!is_alive(pid)) return failure("no such process");
  return placement::Seat{.cpus = placement::CpuSet::parse(cpus).value(), .cpu_cgroup = cgroup};
}

Result<void> FakeHost::place(pid_t worker, const placement::Seat& seat) {
  placed.emplace_back(worker, seat.cpus.list());
  if (!places) return failure("none of these CPUs");
  return {};
}

}  // namespace sidecall::agent
