// A registry on a fake host.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/registry.h"
#include "base/paths.h"
#include "unit/agent/fake_host.h"
#include "unit/agent/fake_safekeeping.h"
#include "unit/agent/support.h"

namespace sidecall::agent {

class RegistryTest : public testing::Test {
 protected:
  using Handed = FakeProcess::Handed;

  static oci::State state_of(const std::string& id, const std::string& policy = "") {
    oci::State state;
    state.id = id;
    state.status = "creating";
    state.pid = kFirstPid;
    state.bundle = "/bundle";
    if (!policy.empty()) state.annotations[std::string(kPolicyAnnotation)] = policy;
    return state;
  }
  // The pipe's read end stands for the listener; closing its write end, for the end of its users.
  static Delivery delivery_of(oci::State state, Pipe& pipe, pid_t pid = kFirstPid,
                              std::string metadata = "") {
    return {{{"seccompFd"}, pid, std::move(metadata), std::move(state)}, std::move(pipe.read)};
  }

  void begin(SandboxTimes times = {}) {
    registry_.reset();
    options_.times = times;
    registry_.emplace(*loop_, host_, keeping_, log_.log(), board_, options_);
  }
  RegistryTest() { begin(); }

  [[nodiscard]] std::shared_ptr<const SandboxView> view(const std::string& id) const {
    const auto snapshot = board_.read();
    for (const auto& each : snapshot->sandboxes) {
      if (each->id == id) return each;
    }
    return nullptr;
  }
  [[nodiscard]] bool is(const std::string& id, SandboxState state) const {
    const auto seen = view(id);
    return seen != nullptr && seen->state == state;
  }
  // Serves the first listener of `id` by a worker that is ready.
  void serve(const std::string& id, Pipe& pipe) {
    registry_->take(delivery_of(state_of(id), pipe));
    host_.workers.back()->ready();
    ASSERT_TRUE(loop_.run_until([&] { return host_.workers.back()->handed.size() == 1; }));
  }
  // Asks as the hook does; the answer comes into answers_.
  void expect(oci::State state) {
    registry_->expect(std::move(state), [this](const Result<void>& outcome) {
      answers_.push_back(outcome ? "ok" : outcome.error().message);
    });
  }

  static constexpr pid_t kFirstPid = 500;

  TemporaryDirectory directory_;
  RegistryOptions options_{
      .default_policy = "default", .times = {}, .placement_interval = std::chrono::milliseconds{1}};
  CapturedLog log_;
  TestLoop loop_;
  FakeHost host_;
  FakeSafekeeping keeping_;
  SnapshotBoard board_;
  std::optional<Registry> registry_;
  std::vector<std::string> answers_;
};

}  // namespace sidecall::agent
