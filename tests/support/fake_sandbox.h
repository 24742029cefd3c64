// An emulators::Sandbox whose figures the test sets.
#pragma once

#include <array>
#include <bit>
#include <optional>

#include "emulators/sandbox.h"

namespace sidecall::support {

class FakeSandbox final : public emulators::Sandbox {
 public:
  emulators::Resources figures;
  std::optional<Error> error;  // given instead of the figures
  bool own_user_namespace = true;
  mutable std::array<emulators::MountLedger::Place, emulators::MountLedger::kMost> mounted{};
  mutable emulators::MountLedger ledger{mounted};

  [[nodiscard]] Result<emulators::Resources> resources() const override {
    if (error) return tl::unexpected<Error>(*error);
    emulators::Resources now = figures;
    struct sysinfo host {};
    static_cast<void>(::sysinfo(&host));
    now.host = std::bit_cast<decltype(now.host)>(host);
    return now;
  }
  [[nodiscard]] bool has_own_user_namespace() const override { return own_user_namespace; }
  [[nodiscard]] emulators::MountLedger& mounts() const override { return ledger; }

  mutable int stops = 0;
  int stop_failure = 0;
  [[nodiscard]] SysResult<void> stop() const override {
    ++stops;
    if (stop_failure != 0) return sys_failure(stop_failure);
    return {};
  }
};

}  // namespace sidecall::support
