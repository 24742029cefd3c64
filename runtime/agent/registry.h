// All sandboxes of the node, and what happens when something about one of them arrives.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/drain_switch.h"
#include "agent/estate.h"
#include "agent/event_loop.h"
#include "agent/event_reporter.h"
#include "agent/hook_intake.h"
#include "agent/host.h"
#include "agent/listener_intake.h"
#include "agent/log.h"
#include "agent/policy_setter.h"
#include "agent/safekeeping.h"
#include "agent/sandbox.h"
#include "agent/snapshot.h"

namespace sidecall::agent {

struct RegistryOptions {
  std::string default_policy;
  SandboxTimes times;
  std::chrono::milliseconds placement_interval{500};
  const DrainSwitch* drain = nullptr;  // null: the node is never drained
  EventReporter* reporter = nullptr;   // null: nobody is told
};

// Lives on the loop's thread; what others may see of it is on the board.
class Registry final : public HookHandler {
 public:
  // All must outlive it.
  Registry(EventLoop& loop, Host& host, Safekeeping& keeping, const Log& log, SnapshotBoard& board,
           RegistryOptions options);

  // Goes on with the sandboxes of a dead agent; before anything else comes.
  void take_over(Inheritance inheritance);
  // Puts everything into safekeeping again.
  void keep_all() const;

  // A listener has come: of a container's first process, or of one exec'd into it. Where it cannot
  // be served it is logged and closed, and what it stood for fails with ENOSYS.
  void take(Delivery delivery);
  // As of PolicySetter, on the loop's thread.
  void set_policy(const std::string& id, const policy::Policy& policy, PolicyAnswer answer);
  // Answers once a worker is ready for the container's listener.
  void expect(oci::State state, HookAnswer answer) override;
  void forget(const oci::State& state) override;

 private:
  // The one of that id whose life has not ended; at most one.
  [[nodiscard]] Sandbox* find(std::string_view id);
  [[nodiscard]] Sandbox* numbered(std::uint64_t number);
  [[nodiscard]] Result<Sandbox*> add(const oci::State& state, std::string_view policy);
  [[nodiscard]] std::unique_ptr<Sandbox> make(Record record);
  Sandbox* insert(std::unique_ptr<Sandbox> sandbox);
  void take_over(Estate estate);
  void remove(const Sandbox& sandbox);
  void publish();
  // Changes Snapshot::past.
  template <typename Change>
  void change_past(Change change);
  void follow();

  EventLoop& loop_;
  Host& host_;
  Safekeeping& keeping_;
  const Log& log_;
  SnapshotBoard& board_;
  RegistryOptions options_;
  std::uint64_t next_number_ = 1;
  std::vector<std::unique_ptr<Sandbox>> sandboxes_;  // oldest first
  std::shared_ptr<const Figures> past_ = std::make_shared<const Figures>();
  EventLoop::Handle placement_timer_;  // armed while there are sandboxes
};

}  // namespace sidecall::agent
