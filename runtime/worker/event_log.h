// The worker's side of watching: who calls what is written down here, where somebody wants to know.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "emulators/emulator.h"
#include "worker/statistics.h"

namespace sidecall::worker {

// Shared by all threads of a worker.
class EventLog {
 public:
  // `hurry` is called, on any thread, where the agent should read soon. `statistics` outlives this.
  EventLog(const Statistics& statistics, std::function<void()> hurry)
      : statistics_(statistics), hurry_(std::move(hurry)) {}

  // Paths are told from now on. `proc` is a descriptor of /proc, and outlives this. Before threads.
  void tell_paths(int proc) { proc_ = proc; }

  // Whether calls of this verdict are watched: one load, so that nobody pays for what nobody reads.
  [[nodiscard]] bool wants(emulators::VerdictKind kind) const {
    const std::uint32_t watched = statistics_.header().watched.load(std::memory_order_relaxed);
    return watched != 0 && (watched >> static_cast<unsigned>(kind) & 1U) != 0;
  }
  // A call of this route was answered, with this errno or value.
  void call(std::uint32_t route, pid_t tid, emulators::VerdictKind kind, std::int64_t number) const;
  // A step was made by the helper, or refused by the kernel or the policy with this errno.
  void privileged(std::uint32_t route, pid_t tid, uid_t user, std::string_view what,
                  int errno_value) const;

  // What a step does, and to what, as the caller would name it.
  [[nodiscard]] std::string text_of(const emulators::StepWords& words,
                                    const emulators::Step& step) const;

 private:
  void push(EventRecord& record) const;

  const Statistics& statistics_;
  const std::function<void()> hurry_;
  int proc_ = -1;
};

// A helper that writes down each step that it makes for one call.
class WatchedHelper final : public emulators::Helper {
 public:
  // What the steps are made for. All outlives this.
  struct Caller {
    std::uint32_t route = 0;
    pid_t tid = 0;
    kernel::Target& target;
    const emulators::Emulator& emulator;
  };

  WatchedHelper(emulators::Helper& helper, const EventLog& log, Caller caller)
      : helper_(helper), log_(log), caller_(caller) {}

  SysResult<emulators::StepResult> perform(std::uint32_t instance,
                                           const emulators::Step& step) override;

 private:
  emulators::Helper& helper_;
  const EventLog& log_;
  const Caller caller_;
};

}  // namespace sidecall::worker
