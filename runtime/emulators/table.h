// The one explicit list of emulators. The filter, the dispatch, the documentation and
// `sidecall emulators` all derive from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

// One syscall of a row and the calls of it that are notified, as alternatives: the filter notifies
// a call where all conditions of any one alternative hold and leaves every other call of it to
// whatever the base profile says. No alternative at all means that each call is notified.
// Alternatives of one syscall exclude each other.
struct Member {
  std::string_view syscall;
  std::span<const Conditions> notify;
};

// An answer that a filter gives by itself, with SECCOMP_RET_ERRNO: the call is not notified.
struct FixedAnswer {
  std::uint16_t errno_value = 0;  // 1..4095; 0: success, the call returns 0
};

struct Row {
  std::string_view name;
  std::span<const Member> members;
  Support support{};
  // What every instance needs; Emulator::further_rights() says what its options add.
  Rights rights{};
  // Whether a call that may have been carried out already, by a worker that died of it, can be
  // carried out again. Where not, it is answered with EINTR.
  bool repeatable = true;
  std::span<const OptionSpec> options;
  std::string_view summary;
  std::string_view notes;
  std::string_view example;  // a complete policy, in JSON, that uses it
  // Builds the emulator, or says which option is wrong and why.
  Result<std::unique_ptr<Emulator>> (*make)(const Options& options) = nullptr;
  // The answer to every call of a member that its alternatives name, where options alone decide it.
  // Takes options that make() takes. What is fixed needs neither an instance nor the row's
  // capabilities in a worker. Null: never.
  std::optional<FixedAnswer> (*fixed)(const Options& options, std::size_t member) = nullptr;
  // Whether rules with these options are for the member. Null: for each.
  bool (*serves)(const Options& options, std::size_t member) = nullptr;
};

[[nodiscard]] std::span<const Row> table();
[[nodiscard]] const Row* find_row(std::string_view name);

}  // namespace sidecall::emulators
