#include "agent/registry.h"

#include <algorithm>
#include <utility>

#include "base/paths.h"

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

Registry::Registry(EventLoop& loop, Host& host, const Log& log, SnapshotBoard& board,
                   RegistryOptions options)
    : loop_(loop), host_(host), log_(log), board_(board), options_(std::move(options)) {}

Sandbox* Registry::find(std::string_view id) {
  for (const auto& sandbox : sandboxes_) {
    if (sandbox->identity().id != id || sandbox->state() == SandboxState::kEnding) continue;
    if (!sandbox->is_deserted()) return sandbox.get();
    // A new container has taken the id before the old one's worker had reported its end.
    sandbox->end();
  }
  return nullptr;
}

Result<Sandbox*> Registry::add(const oci::State& state, std::string_view policy) {
  auto program = host_.load_program(policy);
  if (!program) return pass_on(std::move(program));
  auto sandbox = std::make_unique<Sandbox>(
      Sandbox::Context{loop_, host_, log_, options_.times},
      Identity{state.id, state.bundle, state.pid, state.annotations}, std::move(*program),
      Sandbox::Events{
          .changed = [this] { publish(); },
          .gone = [this](const Sandbox& over) { loop_.defer([this, &over] { remove(over); }); },
      });
  if (auto started = sandbox->start(); !started) return pass_on(std::move(started));
  Sandbox* const added = sandbox.get();
  sandboxes_.push_back(std::move(sandbox));
  if (sandboxes_.size() == 1) follow();
  publish();
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

void Registry::forget(const oci::State& state) {
  // One that is being served ends with its listeners: processes of it may outlive the hook.
  Sandbox* known = find(state.id);
  if (known != nullptr && known->state() == SandboxState::kExpected) known->end();
}

void Registry::remove(const Sandbox& sandbox) {
  log_.info("sandbox ended", {{"sandbox", sandbox.identity().id}});
  std::erase_if(sandboxes_, [&](const auto& each) { return each.get() == &sandbox; });
  publish();
}

void Registry::publish() {
  Snapshot snapshot;
  snapshot.reserve(sandboxes_.size());
  for (const auto& sandbox : sandboxes_) {
    snapshot.push_back(std::make_shared<const SandboxView>(sandbox->view()));
  }
  board_.publish(std::move(snapshot));
}

void Registry::follow() {
  if (sandboxes_.empty()) return placement_timer_.reset();
  for (const auto& sandbox : sandboxes_) sandbox->follow();
  placement_timer_ = loop_.after(options_.placement_interval, [this] { follow(); });
}

}  // namespace sidecall::agent
