// A host without processes: workers are told what to do by the test.
#pragma once

#include <cstdint>
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
  bool takes_listeners = true;
  bool finished = false;
  bool killed = false;
  bool exits_when_killed = true;
};

class FakeHost final : public Host {
 public:
  Result<emulators::Program> load_program(std::string_view policy) override;
  Result<std::unique_ptr<Worker>> launch(const std::string& sandbox,
                                         const emulators::Program& program,
                                         const placement::Seat& seat,
                                         const worker::Statistics* predecessor) override;
  Result<placement::Seat> sandbox_seat(pid_t pid) override;
  Result<void> place(pid_t worker, const placement::Seat& seat) override;
  bool is_alive(pid_t pid) override { return dead_pids.count(pid) == 0; }

  [[nodiscard]] FakeProcess& worker(std::size_t index) { return *workers.at(index); }

  std::vector<std::shared_ptr<FakeProcess>> workers;  // in the order of their launches
  std::set<std::string, std::less<>> policies{"default", "other"};
  std::set<pid_t> dead_pids;
  bool launches = true;
  bool places = true;
  std::string cpus = "0";
  std::string cgroup{};
  std::vector<std::pair<pid_t, std::string>> placed;
};

}  // namespace sidecall::agent
