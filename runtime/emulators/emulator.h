// What an emulator is: a function from a decoded call to a verdict, and, where that takes rights
// that the caller has not, the one privileged step behind it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "emulators/sandbox.h"
#include "emulators/step.h"
#include "emulators/verdict.h"
#include "kernel/abi.h"
#include "kernel/actor.h"
#include "kernel/fuse_program.h"
#include "kernel/host_actions.h"
#include "kernel/target.h"

namespace sidecall::emulators {

// One notified call, decoded. `member` is the index of its syscall in the emulator's row of the
// table, so that an emulator never compares syscall numbers.
struct Call {
  kernel::Abi abi{};
  unsigned member = 0;
  std::array<std::uint64_t, 6> args{};  // registers as received: hostile, upper halves included
};

// The seam to the sandbox's helper, where perform() runs.
class Helper {
 public:
  Helper() = default;
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  virtual ~Helper() = default;
  [[nodiscard]] virtual SysResult<StepResult> perform(std::uint32_t instance, const Step& step) = 0;
};

// What an emulator may use. Lives for one call.
struct Environment {
  kernel::Target& target;
  const Sandbox& sandbox;
  // Set only where the instance needs kFiles:
  kernel::Actor* actor = nullptr;
  Helper* helper = nullptr;
  Helper* launcher = nullptr;  // where the instance starts programs: a seam to launch()
  std::uint32_t instance = 0;  // the emulator's own, for the helper
  // The thread has made this very call before and never got the answer, a success: what is to be
  // done may be done. Asked of emulators whose row is not repeatable.
  bool made_before = false;

  [[nodiscard]] SysResult<StepResult> ask_helper(const Step& step) const {
    return helper->perform(instance, step);
  }
  [[nodiscard]] SysResult<StepResult> ask_launcher(const Step& step) const {
    return launcher->perform(instance, step);
  }
};

// What an emulator touches, which decides where it runs. What comes later has all that is before.
enum class Needs : std::uint8_t {
  kRegisters,  // answers from registers: at once, on the receiving thread
  kMemory,     // also copies from or to the caller's memory, on the receiving thread
  kFiles,      // also acts on files as the caller: on an actor thread, as it may sleep
};

// What an instance of an emulator needs.
struct Rights {
  Needs needs{};
  // Bits (1 << CAP_*): what the worker keeps for it, in the sandbox's user namespace, and what the
  // sandbox's helper keeps in the host's to perform() its steps. Without the latter, no helper.
  std::uint64_t capabilities = 0;
  std::uint64_t host_capabilities = 0;
  // Whether the helper makes mounts: worker and helper then share a workshop (kernel/workshop.h).
  bool makes_mounts = false;
  // Whether it starts programs: beside the worker there is then a launcher (worker/launcher.h).
  bool starts_programs = false;
  // It serves sandboxes with a user namespace of their own, and leaves every call of others to the
  // kernel before it looks at the caller: for those nothing of the above is kept.
  bool own_users_only = false;
};

// A step in words. What it is done to is the path of the step's first descriptor, where that has
// one, and `name` in that directory. They may hold any bytes.
struct StepWords {
  std::string what{};  // "node c 1:3"; empty: nothing that anybody could want to know
  std::string name{};
};

// Immutable after construction: one instance serves all threads of a worker. The helper has one of
// the same options.
class Emulator {
 public:
  Emulator() = default;
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;
  virtual ~Emulator() = default;

  // In the worker, which has no right outside the sandbox's user namespace.
  [[nodiscard]] virtual Outcome emulate(const Call& call, Environment& environment) const = 0;

  // In the helper, with its `host_capabilities`: makes the one step. Trusts the worker, which
  // reads what the container wrote, no more than it must: the policy is checked here.
  [[nodiscard]] virtual SysResult<StepResult> perform(const Step& step,
                                                      kernel::HostActions& host) const;

  // In the launcher, in the sandbox's user namespace: starts a program. Likewise.
  [[nodiscard]] virtual SysResult<StepResult> launch(const Step& step,
                                                     kernel::FusePrograms& programs) const;

  // The step in words, for the record of what is done for a container.
  [[nodiscard]] virtual StepWords describe(const Step& /*step*/) const { return {.what = "step"}; }

  // What it needs for its options beyond what its row says.
  [[nodiscard]] virtual Rights further_rights() const { return {}; }
};

}  // namespace sidecall::emulators
