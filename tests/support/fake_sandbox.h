// An emulators::Sandbox whose figures the test sets.
#pragma once

#include <optional>

#include "emulators/sandbox.h"

namespace sidecall::support {

class FakeSandbox final : public emulators::Sandbox {
 public:
  emulators::Resources figures;
  std::optional<Error> error;  // given instead of the figures

  [[nodiscard]] Result<emulators::Resources> resources() const override {
    if (error) return tl::unexpected<Error>(*error);
    return figures;
  }
};

}  // namespace sidecall::support
