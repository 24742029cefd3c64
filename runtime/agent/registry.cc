#include "agent/registry.h"

#include <algorithm>
#include <utility>

#include "base/paths.h"
#include "policy/compile.h"

namespace sidecall::agent {
namespace {

// The listener's metadata stands in the profile and is what the filter was compiled from; where it
// says nothing, the container's annotation chooses.
std::string_view choose_policy(const oci::State& state, std::string_view metadata,
                               std::string_view fallback) {
  if (!metadata.empty()) return metadata;
  const auto annotation = state.annotations.find(std::string(kPolicyAnnotation));
  return annotation != state.annotations.end() ? std::string_view(annotation->second) : fallback;
}

}  // namespace

Registry::Registry(EventLoop& loop, Host& host, Safekeeping& keeping, const Log& log,
                   SnapshotBoard& board, RegistryOptions options)
    : loop_(loop),
      host_(host),
      keeping_(keeping),
      log_(log),
      board_(board),
      options_(std::move(options)) {}

void Registry::take_over(Inheritance inheritance) {
  next_number_ = inheritance.next_number;
  for (Estate& estate : inheritance.estates) take_over(std::move(estate));
  for (const Record& lost : inheritance.lost) {
    // Ended while no agent was there, as a rule.
    if (host_.is_alive(lost.identity.pid)) {
      log_.error(
          "sandbox not taken over: its descriptors are lost; its worker serves it to its end",
          {{"sandbox", lost.identity.id}});
    }
    keeping_.end(lost.number);
  }
  for (const auto& [number, cause] : inheritance.refused) {
    log_.error("sandbox not taken over: its worker serves it to its end",
               {{"record", std::to_string(number)}, {"cause", cause}});
  }
}

void Registry::take_over(Estate estate) {
  const std::uint64_t number = estate.record.number;
  const std::string id = estate.record.identity.id;
  const bool has_listeners = !estate.listeners.empty();
  auto sandbox = make(estate.record);
  if (auto taken = sandbox->take_over(std::move(estate)); !taken) {
    // The agent died while it launched the first worker, and the container's start failed with it.
    if (!has_listeners) return keeping_.end(number);
    log_.error("sandbox not taken over: its worker serves it to its end",
               {{"sandbox", id}, {"cause", taken.error().message}});
    return;
  }
  if (const auto statistics = sandbox->view().statistics) {
    change_past([&](Figures& past) { past.subtract(*statistics); });
  }
  const Sandbox* const added = insert(std::move(sandbox));
  log_.info("sandbox taken over", {{"sandbox", id},
                                   {"policy", added->policy()},
                                   {"worker_pid", std::to_string(added->view().worker_pid)},
                                   {"listeners", std::to_string(added->view().listeners)}});
}

void Registry::keep_all() const {
  for (const auto& sandbox : sandboxes_) sandbox->keep_all();
}

Sandbox* Registry::find(std::string_view id) {
  for (const auto& sandbox : sandboxes_) {
    if (sandbox->identity().id != id || sandbox->state() == SandboxState::kEnding) continue;
    if (!sandbox->is_deserted()) return sandbox.get();
    // A new container has taken the id before the old one's worker had reported its end.
    sandbox->end();
  }
  return nullptr;
}

Sandbox* Registry::numbered(std::uint64_t number) {
  const auto found = std::find_if(sandboxes_.begin(), sandboxes_.end(),
                                  [&](const auto& each) { return each->number() == number; });
  return found != sandboxes_.end() ? found->get() : nullptr;
}

Result<Sandbox*> Registry::add(const oci::State& state, std::string_view policy) {
  auto program = host_.load_program(policy);
  if (!program) return pass_on(std::move(program));
  auto sandbox = make({.number = next_number_++,
                       .identity = {state.id, state.bundle, state.pid, state.annotations},
                       .program = std::move(*program),
                       .since = std::chrono::system_clock::now()});
  if (auto started = sandbox->start(); !started) return pass_on(std::move(started));
  return insert(std::move(sandbox));
}

std::unique_ptr<Sandbox> Registry::make(Record record) {
  Sandbox::Events events{
      .changed = [this] { publish(); },
      .gone = [this](const Sandbox& over) { loop_.defer([this, &over] { remove(over); }); },
  };
  if (EventReporter* const reporter = options_.reporter; reporter != nullptr) {
    const auto tell = [this, reporter, number = record.number](auto what) {
      return [this, reporter, number, what] {
        if (const Sandbox* const sandbox = numbered(number)) (reporter->*what)(sandbox->view());
      };
    };
    events.worker_restarted = tell(&EventReporter::worker_restarted);
    events.policy_changed = tell(&EventReporter::policy_changed);
    events.cpus_changed = tell(&EventReporter::cpus_changed);
    events.calls_waiting = tell(&EventReporter::read_calls);
  }
  return std::make_unique<Sandbox>(Sandbox::Context{loop_, host_, keeping_, log_, options_.times},
                                   std::move(record), std::move(events));
}

Sandbox* Registry::insert(std::unique_ptr<Sandbox> sandbox) {
  Sandbox* const added = sandbox.get();
  sandboxes_.push_back(std::move(sandbox));
  if (sandboxes_.size() == 1) follow();
  publish();
  if (options_.reporter != nullptr) options_.reporter->appeared(added->view());
  return added;
}

void Registry::take(Delivery delivery) {
  const oci::State& state = delivery.process.state;
  const std::string_view policy =
      choose_policy(state, delivery.process.metadata, options_.default_policy);
  Sandbox* sandbox = find(state.id);
  if (sandbox != nullptr && sandbox->state() == SandboxState::kExpected &&
      sandbox->policy() != policy) {
    // The filter was compiled from another policy than the annotations alone had told.
    sandbox->end();
    sandbox = nullptr;
  }
  if (sandbox == nullptr) {
    auto added = state.pid > 0
                     ? add(state, policy)
                     : failure("the container is not known and its state names no process");
    if (!added) {
      log_.error("listener dropped: its calls fail with ENOSYS",
                 {{"sandbox", state.id}, {"cause", added.error().message}});
      return;
    }
    sandbox = *added;
  }
  log_.info("serving a listener", {{"sandbox", state.id},
                                   {"policy", sandbox->policy()},
                                   {"pid", std::to_string(delivery.process.pid)}});
  sandbox->add_listener(std::move(delivery.listener), delivery.process.pid);
}

void Registry::expect(oci::State state, HookAnswer answer) {
  if (options_.drain != nullptr && options_.drain->is_on()) {
    log_.warn("container refused: the node is being drained", {{"sandbox", state.id}});
    return answer(
        failure("sidecalld takes no new container: this node is being drained; start it elsewhere, "
                "or end that with `sidecall drain --undo`"));
  }
  if (Sandbox* known = find(state.id); known != nullptr) {
    if (known->state() == SandboxState::kServing) {
      return answer(failure("container " + state.id +
                            " is being served already: another engine uses the same id; "
                            "give this container another one"));
    }
    known->end();
  }
  auto added = add(state, choose_policy(state, {}, options_.default_policy));
  if (!added) {
    log_.error("container refused", {{"sandbox", state.id}, {"cause", added.error().message}});
    return answer(pass_on(std::move(added)));
  }
  log_.info("expecting a container", {{"sandbox", state.id}, {"policy", (*added)->policy()}});
  (*added)->when_ready(std::move(answer));
}

void Registry::set_policy(const std::string& id, const policy::Policy& policy,
                          PolicyAnswer answer) {
  Sandbox* const sandbox = find(id);
  if (sandbox == nullptr) return answer(failure("no sandbox \"" + id + "\""));
  auto compiled = policy::compile_replacement(policy, sandbox->program().routes);
  if (!compiled) return answer(pass_on(std::move(compiled), "policy \"" + policy.name + "\""));
  sandbox->set_program(std::move(compiled->program),
                       [notes = std::move(compiled->notes), answer = std::move(answer)](
                           Result<void> outcome) { answer(outcome.map([&] { return notes; })); });
}

void Registry::forget(const oci::State& state) {
  // One that is being served ends with its listeners: processes of it may outlive the hook.
  Sandbox* known = find(state.id);
  if (known != nullptr && known->state() == SandboxState::kExpected) known->end();
}

void Registry::remove(const Sandbox& sandbox) {
  if (options_.reporter != nullptr) options_.reporter->ended(sandbox.view());
  log_.info("sandbox ended", {{"sandbox", sandbox.identity().id}});
  if (const auto statistics = sandbox.view().statistics) {
    change_past([&](Figures& past) { past.add(*statistics); });
  }
  std::erase_if(sandboxes_, [&](const auto& each) { return each.get() == &sandbox; });
  publish();
}

template <typename Change>
void Registry::change_past(Change change) {
  auto past = std::make_shared<Figures>(*past_);
  change(*past);
  past_ = std::move(past);
}

void Registry::publish() {
  Snapshot snapshot{.sandboxes = {}, .past = past_};
  snapshot.sandboxes.reserve(sandboxes_.size());
  for (const auto& sandbox : sandboxes_) {
    snapshot.sandboxes.push_back(std::make_shared<const SandboxView>(sandbox->view()));
  }
  board_.publish(std::move(snapshot));
  if (options_.reporter != nullptr) options_.reporter->board_changed();
}

void Registry::follow() {
  if (sandboxes_.empty()) return placement_timer_.reset();
  for (const auto& sandbox : sandboxes_) sandbox->follow();
  placement_timer_ = loop_.after(options_.placement_interval, [this] { follow(); });
}

}  // namespace sidecall::agent
