// What an emulator is: a function from a decoded call to a verdict.
#pragma once

#include <array>
#include <cstdint>

#include "emulators/sandbox.h"
#include "emulators/verdict.h"
#include "kernel/abi.h"
#include "kernel/actor.h"
#include "kernel/target.h"

namespace sidecall::emulators {

// One notified call, decoded. `member` is the index of its syscall in the emulator's row of the
// table, so that an emulator never compares syscall numbers.
struct Call {
  kernel::Abi abi{};
  unsigned member = 0;
  std::array<std::uint64_t, 6> args{};  // registers as received: hostile, upper halves included
};

// What an emulator may use. Lives for one call.
struct Environment {
  kernel::Target& target;
  kernel::Actor* actor;  // set only where the row says Needs::kFiles
  const Sandbox& sandbox;
};

// Immutable after construction: one instance serves all threads of a worker.
class Emulator {
 public:
  Emulator() = default;
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;
  virtual ~Emulator() = default;

  [[nodiscard]] virtual Outcome emulate(const Call& call, Environment& environment) const = 0;
};

}  // namespace sidecall::emulators
