// One sandbox: its worker, its listeners, its life.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/backoff.h"
#include "agent/busy_watch.h"
#include "agent/estate.h"
#include "agent/event_loop.h"
#include "agent/host.h"
#include "agent/log.h"
#include "agent/record.h"
#include "agent/safekeeping.h"
#include "agent/sandbox_bridge.h"
#include "agent/snapshot.h"
#include "base/unique_fd.h"

namespace sidecall::agent {

struct SandboxTimes {
  std::chrono::milliseconds expected{500};    // between looks whether an expected one still lives
  std::chrono::milliseconds ready{10'000};    // from a worker's launch to its first report
  std::chrono::milliseconds end_grace{5000};  // from asking a worker to end to killing it
};

// Expected until its first listener comes, serving until its last one is closed, ending until its
// worker has exited. Lives on the loop's thread.
//
// It keeps a descriptor of its own of every listener that its worker serves: a worker that dies is
// replaced and given all of them again, and the container sees a delay, never ENOSYS
// (ARCHITECTURE.md, invariant 9). All that it holds is in safekeeping as well, from where the next
// agent takes it over. It does not watch the listeners, because each watcher of a
// listener is woken for every notification; that a listener has closed is the worker's to report.
class Sandbox {
 public:
  struct Context {
    EventLoop& loop;
    Host& host;
    Safekeeping& keeping;
    const Log& log;
    SandboxTimes times;
  };
  struct Events {
    std::function<void()> changed;             // view() has changed
    std::function<void(const Sandbox&)> gone;  // it is over; destroy it, but not within this call
    // For whoever watches; each after view() has changed.
    std::function<void()> worker_restarted = [] {};
    std::function<void()> cpus_changed = [] {};
    std::function<void()> policy_changed = [] {};
    // The worker has written down more than it should keep.
    std::function<void()> calls_waiting = [] {};
  };
  using Ready = std::function<void(Result<void>)>;

  Sandbox(const Context& context, Record record, Events events);
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  ~Sandbox() = default;  // its worker, if it has one, serves on

  // Launches the first worker. After an error it is of no use.
  [[nodiscard]] Result<void> start();
  // Goes on with what a dead agent has left of it, whose record it was made from. An error is one
  // of descriptors that are not what they should be; it is then of no use, and they are kept.
  [[nodiscard]] Result<void> take_over(Estate estate);
  // Calls back once, when the worker is ready or has failed to become so.
  void when_ready(Ready ready);
  // `pid` is the process that the listener's filter was installed for.
  void add_listener(UniqueFd listener, pid_t pid);
  // No listener is to come any more.
  void end();
  // Moves the worker after the sandbox, where its CPUs or its cgroup have changed.
  void follow();

  // Goes on under another program, with the same routes: the worker finishes what it has received,
  // and another, with the rights of that program, takes its place. Calls back once, when that one
  // is ready or where it cannot be tried; what is called meanwhile waits.
  void set_program(emulators::Program program, Ready ready);
  [[nodiscard]] const emulators::Program& program() const { return record_.program; }

  // Puts everything into safekeeping again.
  void keep_all() const;

  [[nodiscard]] std::uint64_t number() const { return record_.number; }
  [[nodiscard]] const Identity& identity() const { return record_.identity; }
  [[nodiscard]] const std::string& policy() const { return record_.program.policy; }
  [[nodiscard]] SandboxState state() const { return state_; }
  // Whether it had listeners and the last user of each has exited, which its worker may not have
  // reported yet.
  [[nodiscard]] bool is_deserted() const;
  [[nodiscard]] SandboxView view() const;

 private:
  struct Served {
    UniqueFd listener;
    pid_t pid = 0;
  };

  [[nodiscard]] bool is_ready() const;
  void make_bridge();
  [[nodiscard]] Result<void> launch_worker();
  [[nodiscard]] Result<void> install(std::unique_ptr<Worker> worker);
  void keep_worker() const;
  void keep_listener(std::uint64_t tag, const Served& served) const;
  [[nodiscard]] keeper::Label label(keeper::Label::Kind kind) const;
  // Whether it was there.
  bool let_go(std::uint64_t tag);
  void replace_worker();
  void succeed_retired();
  void schedule_replacement(Backoff& backoff);
  bool place(const placement::Seat& seat);
  [[nodiscard]] std::uint64_t calls_so_far() const;
  void read_report();
  void on_report(const worker::WorkerReport& report);
  void on_ready();
  void on_exit();
  void hand_over(std::uint64_t tag, const Served& served);
  void drop_deserted_listeners();
  void watch_expected();
  void kill_after(std::chrono::milliseconds delay, std::string cause);
  void answer_waiting(const Result<void>& outcome);
  void conclude();

  Context context_;
  Record record_;
  Events events_;
  SandboxState state_ = SandboxState::kExpected;
  std::uint64_t next_tag_ = 1;
  std::map<std::uint64_t, Served> listeners_;
  std::vector<Ready> waiting_;

  std::unique_ptr<SandboxBridge> bridge_;  // null where no rule is remote
  std::unique_ptr<Worker> worker_;         // null while one is being replaced
  // The last worker's, for the next one.
  std::shared_ptr<const worker::Statistics> memory_;
  bool worker_ready_ = false;
  bool ever_ready_ = false;
  bool given_up_ = false;  // killed by us
  // While a worker retires for another program: that, and who waits for it.
  std::optional<emulators::Program> next_program_;
  Ready program_set_;
  std::uint32_t restarts_ = 0;
  Backoff failures_{Backoff::kFreeFailures};
  Backoff kills_{Backoff::kFreeKills};
  BusyWatch busy_;
  placement::Seat seat_;
  std::optional<placement::Seat> refused_seat_;  // logged once, not twice a second

  // After worker_: they go before the descriptors that they watch.
  EventLoop::Handle control_watch_;
  EventLoop::Handle exit_watch_;
  EventLoop::Handle kill_timer_;
  EventLoop::Handle replace_timer_;
  EventLoop::Handle expected_timer_;
};

}  // namespace sidecall::agent
