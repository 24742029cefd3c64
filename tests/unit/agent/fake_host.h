// A host without processes: workers are told what to do by the test.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/host.h"
#include "base/unique_fd.h"

namespace sidecall::agent {

// The test's side of a worker.
struct FakeProcess {
  struct Handed {
    std::uint64_t tag = 0;
    pid_t pid = 0;
    pid_t first_pid = 0;
    friend bool operator==(const Handed&, const Handed&) = default;
  };

  FakeProcess(pid_t number, std::string for_sandbox, std::string under_policy);
  void report(worker::WorkerReport::Kind kind, std::uint64_t tag = 0);
  void ready() { report(worker::WorkerReport::Kind::kReady); }
  void close_listener(std::uint64_t tag) {
    report(worker::WorkerReport::Kind::kListenerClosed, tag);
  }
  void exit();

  pid_t pid;
  std::string sandbox;
  std::string policy;
  UniqueFd agent_end;
  UniqueFd worker_end;
  UniqueFd exited;
  std::vector<Handed> handed;
  std::vector<std::uint64_t> bridged;  // generations of the bridges that it got
  bool takes_listeners = true;
  bool finished = false;
  bool retired = false;
  bool killed = false;
  bool killed_by_others = false;
  std::shared_ptr<const worker::Statistics> memory{};
  bool exits_when_killed = true;
};

// The test's side of a bridge.
struct FakeBridgeProcess {
  struct Told {
    bridge::ToBridge::Kind kind{};
    std::uint32_t plugin = 0;
    bool with_fd = false;
    friend bool operator==(const Told&, const Told&) = default;
  };

  explicit FakeBridgeProcess(pid_t number);
  void report(bridge::BridgeReport::Kind kind, std::uint32_t plugin = 0);
  void exit();

  pid_t pid;
  UniqueFd agent_end;
  UniqueFd bridge_end;
  UniqueFd exited;
  std::vector<Told> told;
  bool killed = false;
};

class FakeHost final : public Host {
 public:
  Result<emulators::Program> load_program(std::string_view policy) override;
  Result<std::unique_ptr<Worker>> launch(const std::string& sandbox,
                                         const emulators::Program& program,
                                         const placement::Seat& seat,
                                         const worker::Statistics* predecessor) override;
  // The first of `orphans`, where it has a pidfd.
  Result<std::unique_ptr<Worker>> adopt(UniqueFd process, UniqueFd control,
                                        UniqueFd memory) override;
  Result<std::unique_ptr<Bridge>> launch_bridge(const bridge::Settings& settings,
                                                const placement::Seat& seat) override;
  // The first of `orphaned_bridges`, where it has a pidfd.
  Result<std::unique_ptr<Bridge>> adopt_bridge(UniqueFd process, UniqueFd control) override;
  Result<UniqueFd> connect_plugin(const std::string& path) override;
  Result<placement::Seat> sandbox_seat(pid_t pid, bool busy) override;
  Result<void> place(pid_t worker, const placement::Seat& seat) override;
  bool is_alive(pid_t pid) override { return dead_pids.count(pid) == 0; }

  [[nodiscard]] FakeBridgeProcess& bridge(std::size_t index) { return *bridges.at(index); }
  [[nodiscard]] FakeProcess& worker(std::size_t index) { return *workers.at(index); }

  std::vector<std::shared_ptr<FakeProcess>> workers;  // in the order of launches and adoptions
  std::deque<std::shared_ptr<FakeProcess>> orphans;   // workers of an agent before this one
  std::vector<std::shared_ptr<FakeBridgeProcess>> bridges;
  std::deque<std::shared_ptr<FakeBridgeProcess>> orphaned_bridges;
  std::vector<std::string> plugins;  // of every policy
  bool has_plugins = true;           // whether they can be connected to
  std::set<std::string, std::less<>> policies{"default", "other"};
  std::set<pid_t> dead_pids;
  // Every worker's, as one hands it to the next; null: they have none.
  std::shared_ptr<const worker::Statistics> memory;
  bool launches = true;
  bool places = true;
  std::string cpus = "0";
  std::string cgroup{};
  std::vector<std::pair<pid_t, std::string>> placed;
};

}  // namespace sidecall::agent
