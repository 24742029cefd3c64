// The one explicit list of emulators. The filter, the dispatch, the documentation and
// `sidecall emulators` all derive from it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "emulators/conditions.h"
#include "emulators/emulator.h"
#include "emulators/options.h"

namespace sidecall::emulators {

enum class Support : std::uint8_t {
  kFull,     // what the kernel would have done, in every respect
  kPartial,  // the notes say what is left to the kernel
};

// What an emulator touches, which decides where it runs.
enum class Needs : std::uint8_t {
  kRegisters,  // answers from registers: at once, on the receiving thread
  kMemory,     // also copies from or to the caller's memory, on the receiving thread
  kFiles,      // also acts on files as the caller: on an actor thread, as it may sleep
};

// One syscall of a row and the calls of it that are notified, as alternatives: the filter notifies
// a call where all conditions of any one alternative hold and leaves every other call of it to
// whatever the base profile says. No alternative at all means that each call is notified.
// Alternatives of one syscall exclude each other.
struct Member {
  std::string_view syscall;
  std::span<const Conditions> notify;
};

struct Row {
  std::string_view name;
  std::span<const Member> members;
  Support support{};
  Needs needs{};
  // Whether a call that may have been carried out already, by a worker that died of it, can be
  // carried out again. Where not, it is answered with EINTR.
  bool repeatable = true;
  std::uint64_t capabilities = 0;  // bits (1 << CAP_*) that the worker keeps for it
  std::span<const OptionSpec> options;
  std::string_view summary;
  std::string_view notes;
  std::string_view example;  // a complete policy, in JSON, that uses it
  // Builds the emulator, or says which option is wrong and why.
  Result<std::unique_ptr<Emulator>> (*make)(const Options& options) = nullptr;
};

[[nodiscard]] std::span<const Row> table();
[[nodiscard]] const Row* find_row(std::string_view name);

}  // namespace sidecall::emulators
