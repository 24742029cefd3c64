// A compiled policy as the worker runs it, and its form on the wire between agent and worker.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "emulators/conditions.h"
#include "emulators/options.h"
#include "kernel/abi.h"

namespace sidecall::emulators {

// What is done with a call that a rule's conditions match. The first matching rule wins.
struct Rule {
  enum class Action : std::uint8_t { kContinue, kErrno, kValue, kEmulate, kRemote };
  Conditions when;
  Action action = Action::kContinue;
  std::int64_t number = 0;  // the errno, or the return value
  // kEmulate: index into Program::instances; kRemote: into Program::remotes.
  std::uint32_t instance = 0;
  std::uint32_t member = 0;  // kEmulate: index into the row's members
};

// One (abi, nr) that the filter notifies. Where no rule matches, the kernel decides (Continue).
struct Route {
  kernel::Abi abi{};
  std::int32_t nr = 0;
  std::string name;  // the syscall's
  std::vector<Rule> rules;
};

// One configured emulator.
struct Instance {
  std::string emulator;  // a row's name
  Options options;
};

// What a sandbox may cost: the policy's "limits".
struct Limits {
  struct Range {
    std::uint32_t least;
    std::uint32_t most;
    [[nodiscard]] bool has(std::int64_t value) const { return value >= least && value <= most; }
  };
  static constexpr Range kCalls{1, 1000};  // each has its place in the journal: worker/journal.h
  static constexpr Range kThreads{1, 256};
  static constexpr Range kMemoryMib{32, 65536};
  static constexpr Range kWaitSeconds{1, 3600};

  // On files, being served or waiting for a thread at the same time. One more gets EAGAIN.
  std::uint32_t calls = 1000;
  // That serve them, however many of them are held up by a filesystem that does not answer.
  std::uint32_t threads = 64;
  // Of its worker, and once more of the helper: RLIMIT_DATA.
  std::uint32_t memory_mib = 128;
  // A call that no thread has begun by then gets EAGAIN.
  std::uint32_t wait_seconds = 10;

  [[nodiscard]] bool operator==(const Limits&) const = default;
  [[nodiscard]] bool are_in_range() const {
    return kCalls.has(calls) && kThreads.has(threads) && kMemoryMib.has(memory_mib) &&
           kWaitSeconds.has(wait_seconds);
  }
};

// A rule by which a plugin behind gRPC is asked.
struct Remote {
  // What a call gets while there is no plugin to ask.
  enum class Absent : std::uint8_t { kErrno, kContinue, kWait };
  std::uint32_t plugin = 0;       // index into Program::plugins
  std::uint32_t deadline_ms = 0;  // from the call's receipt to its answer; 0: none
  Absent absent = Absent::kErrno;
  std::uint16_t errno_value = 0;  // 1..4095: of a call that is late, or absent by kErrno
  bool may_continue = false;      // whether the plugin may leave a call to the kernel
};

struct Program {
  std::string policy;  // its name, for people
  bool sync_wake_up = true;
  Limits limits;
  std::vector<Instance> instances;
  std::vector<std::string> plugins{};  // Unix sockets, by absolute paths
  std::vector<Remote> remotes{};
  std::vector<Route> routes;  // each (abi, nr) at most once
};

// Encoding is versioned; decode refuses what is cut, too long, out of range or of another version.
[[nodiscard]] std::string encode(const Program& program);
[[nodiscard]] Result<Program> decode(std::string_view bytes);

}  // namespace sidecall::emulators
