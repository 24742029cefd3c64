// A sandbox's bridge, where its policy has remote rules: its life, its way to the worker, and the
// connections to plugins, which it cannot make itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/backoff.h"
#include "agent/event_loop.h"
#include "agent/host.h"
#include "agent/log.h"
#include "agent/record.h"
#include "agent/safekeeping.h"

namespace sidecall::agent {

// Lives on the loop's thread. A bridge that dies is replaced; what it carried the worker knows, and
// sends to the next one what can be sent again.
class SandboxBridge {
 public:
  struct Context {
    EventLoop& loop;
    Host& host;
    Safekeeping& keeping;
    const Log& log;
  };
  struct Events {
    // The worker's end of the way to one plugin, as of worker::WorkerProcess.
    std::function<Result<void>(int socket, std::uint64_t generation, std::uint32_t plugin)> connect;
    // Each plugin has been tried: it serves or is known not to be there. Once.
    std::function<void()> settled;
  };

  // `record` outlives it.
  SandboxBridge(const Context& context, const Record& record, Events events);
  SandboxBridge(const SandboxBridge&) = delete;
  SandboxBridge& operator=(const SandboxBridge&) = delete;
  ~SandboxBridge() = default;  // the process, if there is one, goes on

  [[nodiscard]] Result<void> start(const placement::Seat& seat);
  // Goes on with the one that a dead agent has left, or starts another.
  void take_over(UniqueFd process, UniqueFd control, const placement::Seat& seat);
  // Kills it. Calls back once it has exited, which may be within this call.
  void end(std::function<void()> ended);

  // The worker takes what it is told, from now on, or has exited.
  void worker_is_ready();
  void worker_is_gone() { is_worker_ready_ = is_connected_ = false; }
  // It says that the bridge of this generation is of no use.
  void worker_lost(std::uint64_t generation);

  [[nodiscard]] bool is_settled() const;
  void place(const placement::Seat& seat);
  void keep_all() const;

 private:
  struct Plugin {
    std::chrono::milliseconds delay{0};  // before the next attempt to connect
    bool is_tried = false;
    bool is_given = false;        // a connection, since the bridge last asked for one
    bool is_told_absent = false;  // the bridge, and the log
    EventLoop::Handle timer;
  };

  [[nodiscard]] Result<void> launch();
  [[nodiscard]] Result<void> install(std::unique_ptr<Bridge> bridge);
  [[nodiscard]] Result<void> connect_worker();
  void read_report();
  void on_exit();
  void replace();
  void on_disconnected(std::uint32_t number);
  void on_serving(std::uint32_t number);
  void connect_plugin(std::uint32_t number);
  void note_tried(Plugin& plugin);
  void tell(bridge::ToBridge::Kind kind, std::uint32_t plugin, int fd);
  [[nodiscard]] const std::string& path_of(std::uint32_t plugin) const {
    return record_.program.plugins[plugin];
  }

  Context context_;
  const Record& record_;
  Events events_;
  placement::Seat seat_;
  Backoff failures_{Backoff::kFreeFailures};
  std::vector<Plugin> plugins_;
  std::unique_ptr<Bridge> bridge_;  // null while one is being replaced
  std::uint64_t generation_ = 0;    // of the way to the worker
  bool is_worker_ready_ = false;
  bool is_connected_ = false;  // bridge and worker, with each other
  bool was_settled_ = false;
  std::function<void()> ended_;
  // After bridge_: they go before the descriptors that they watch.
  EventLoop::Handle control_watch_;
  EventLoop::Handle exit_watch_;
  EventLoop::Handle replace_timer_;
};

}  // namespace sidecall::agent
