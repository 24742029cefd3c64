// A policy: what is done with each system call of a sandbox, as one JSON file says it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "emulators/conditions.h"
#include "emulators/options.h"
#include "emulators/program.h"

namespace sidecall::policy {

struct PolicyRule {
  enum class Action : std::uint8_t {
    kEmulate,
    kReturn,
    kErrno,
    kLog,
    kKillProcess,
    kKillThread,
    kContinue,
    kRemote,
  };
  std::vector<std::string> syscalls;  // names as libseccomp knows them; never empty
  emulators::Conditions when;
  Action action = Action::kContinue;
  std::int64_t number = 0;     // kReturn: the value; kErrno: the errno
  std::string emulator;        // kEmulate: a row's name
  emulators::Options options;  // kEmulate
  std::string plugin;          // kRemote: an absolute path
  emulators::Remote remote;    // kRemote: `plugin` in it is for the program to fill
  std::string json_path;       // "$.rules[2]", for messages about this rule
};

struct Policy {
  std::string name;
  std::string description;
  bool sync_wake_up = true;
  bool wait_killable = false;  // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
  emulators::Limits limits;
  std::vector<PolicyRule> rules;
};

// Strict: a syntax error, an unknown or repeated key, a wrong type, a value out of range, an
// unknown syscall, emulator or option, a rule that says what an earlier one has said, or one that
// can never be reached is an error that names the JSON path ("$.rules[0].options.devices[1]: …").
[[nodiscard]] Result<Policy> parse_policy(std::string_view name, std::string_view json);

// A policy by its name: `NAME.json` in `directory`. A name is 1 to 64 of [A-Za-z0-9._-] and does
// not start with a dot, so that an annotation can never name a file elsewhere.
[[nodiscard]] Result<Policy> load_policy(const std::string& directory, std::string_view name);
[[nodiscard]] Result<Policy> load_policy_file(const std::string& path);

}  // namespace sidecall::policy
