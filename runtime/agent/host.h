// The seam between the agent's bookkeeping and the host: policies, processes, CPUs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bridge/launch.h"
#include "emulators/program.h"
#include "placement/placement.h"
#include "worker/launch.h"
#include "worker/statistics.h"

namespace sidecall::agent {

// How a process ended.
struct Ending {
  std::string text;        // "exit status 1", "signal 9"
  bool by_itself = false;  // known to be its own fault: it crashed or gave up, nobody killed it
  bool orderly = false;    // of one that was asked to end: as it should, for all that is known
};

// One worker process. Destroying it leaves the process alone.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  virtual ~Worker() = default;

  [[nodiscard]] virtual pid_t pid() const = 0;
  [[nodiscard]] virtual int pidfd() const = 0;       // readable once it has exited
  [[nodiscard]] virtual int control_fd() const = 0;  // readable: receive_report()
  // Stays mapped for as long as anybody holds it, the worker's end included.
  [[nodiscard]] virtual std::shared_ptr<const worker::Statistics> statistics() const = 0;
  // As of worker::WorkerProcess.
  [[nodiscard]] virtual Result<void> add_listener(int listener, std::uint64_t tag, pid_t pid,
                                                  pid_t first_pid) = 0;
  [[nodiscard]] virtual Result<void> connect_bridge(int socket, std::uint64_t generation,
                                                    std::uint32_t plugin) = 0;
  [[nodiscard]] virtual Result<void> finish() = 0;
  [[nodiscard]] virtual Result<void> retire() = 0;
  [[nodiscard]] virtual Result<worker::WorkerReport> receive_report() = 0;
  virtual void kill() = 0;
  // Reaps it, once pidfd() is readable, and says how it ended.
  [[nodiscard]] virtual Ending reap() = 0;
};

// One bridge process. Destroying it leaves the process alone.
class Bridge {
 public:
  Bridge() = default;
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;
  virtual ~Bridge() = default;

  [[nodiscard]] virtual pid_t pid() const = 0;
  [[nodiscard]] virtual int pidfd() const = 0;       // readable once it has exited
  [[nodiscard]] virtual int control_fd() const = 0;  // readable: receive_report()
  // As of bridge::BridgeProcess.
  [[nodiscard]] virtual Result<void> tell(bridge::ToBridge::Kind kind, std::uint32_t plugin,
                                          int fd) = 0;
  [[nodiscard]] virtual Result<bridge::BridgeReport> receive_report() = 0;
  virtual void kill() = 0;
  [[nodiscard]] virtual Ending reap() = 0;
};

// Every method is called on the loop's thread and returns at once.
class Host {
 public:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;

  // The policy of this name, read afresh and compiled.
  [[nodiscard]] virtual Result<emulators::Program> load_program(std::string_view policy) = 0;
  // `predecessor` as of worker::LaunchOptions; null for a sandbox's first worker.
  [[nodiscard]] virtual Result<std::unique_ptr<Worker>> launch(
      const std::string& sandbox, const emulators::Program& program, const placement::Seat& seat,
      const worker::Statistics* predecessor) = 0;
  // A worker that an agent before this one has launched: its pidfd, the agent's end of its control
  // socket and its memory. An error where one of them is missing or another thing.
  [[nodiscard]] virtual Result<std::unique_ptr<Worker>> adopt(UniqueFd process, UniqueFd control,
                                                              UniqueFd memory) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Bridge>> launch_bridge(
      const bridge::Settings& settings, const placement::Seat& seat) = 0;
  // One that an agent before this one has launched.
  [[nodiscard]] virtual Result<std::unique_ptr<Bridge>> adopt_bridge(UniqueFd process,
                                                                     UniqueFd control) = 0;
  // A socket that is connected to the plugin that listens at `path`.
  [[nodiscard]] virtual Result<UniqueFd> connect_plugin(const std::string& path) = 0;
  // As of placement::sandbox_seat().
  [[nodiscard]] virtual Result<placement::Seat> sandbox_seat(pid_t pid, bool busy) = 0;
  // As of placement::take_seat().
  [[nodiscard]] virtual Result<void> place(pid_t worker, const placement::Seat& seat) = 0;
  [[nodiscard]] virtual bool is_alive(pid_t pid) = 0;
};

}  // namespace sidecall::agent
