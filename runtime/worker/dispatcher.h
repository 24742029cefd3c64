// From a notification to what is done with it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "emulators/emulator.h"
#include "emulators/program.h"
#include "emulators/table.h"
#include "kernel/listener.h"

namespace sidecall::worker {

// What a call's rule says. Either an emulator is to be asked or the verdict is known.
struct Decision {
  static constexpr std::uint32_t kNoRoute = ~0U;
  std::uint32_t route = kNoRoute;  // index into Program::routes, for statistics
  const emulators::Emulator* emulator = nullptr;
  std::uint32_t instance = 0;  // the emulator's, in Program::instances
  emulators::Needs needs = emulators::Needs::kRegisters;
  bool repeatable = true;  // Row::repeatable
  emulators::Call call;
  // Without an emulator; of kRemote `instance` is the rule's, in Program::remotes:
  emulators::Rule::Action action = emulators::Rule::Action::kContinue;
  std::int64_t number = 0;
};

// Immutable after construction; shared by all threads of a worker. A look-up is two array accesses
// and the rule's comparisons.
class Dispatcher {
 public:
  // Builds the program's emulators. Errors name the emulator or the syscall.
  [[nodiscard]] static Result<Dispatcher> build(emulators::Program program);

  // Never fails: a call of a foreign ABI is refused with ENOSYS, and one that the program does not
  // name is left to the kernel.
  [[nodiscard]] Decision decide(const kernel::Notification& notification) const;

  // What all of the program's emulators need together, in a sandbox with a user namespace of its
  // own or in one without.
  [[nodiscard]] const emulators::Rights& rights(bool own_user_namespace) const {
    return own_user_namespace ? rights_ : rights_among_host_users_;
  }
  // Of one of Program::instances; null where there is none.
  [[nodiscard]] const emulators::Emulator* emulator(std::uint32_t instance) const {
    return instance < built_.size() ? built_[instance].emulator.get() : nullptr;
  }
  [[nodiscard]] const emulators::Program& program() const { return program_; }
  // Whether any of them looks at its caller beyond the registers.
  [[nodiscard]] bool needs_targets() const { return needs_targets_; }
  [[nodiscard]] const emulators::Limits& limits() const { return program_.limits; }

 private:
  struct Built {
    std::unique_ptr<emulators::Emulator> emulator;
    emulators::Needs needs{};
    bool repeatable = true;
  };
  // Of one ABI: route + 1 by syscall number; 0 where there is none.
  using Index = std::vector<std::uint16_t>;

  emulators::Program program_;
  std::vector<Built> built_;  // one for each of the program's instances
  std::array<Index, 3> index_;
  emulators::Rights rights_;
  emulators::Rights rights_among_host_users_;
  bool needs_targets_ = false;
};

}  // namespace sidecall::worker
