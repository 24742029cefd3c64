// What is written down of a sandbox for the next agent.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "emulators/program.h"

namespace sidecall::agent {

struct Identity {
  std::string id;
  std::string bundle;
  pid_t pid = 0;  // the container's first process
  std::map<std::string, std::string> annotations;
};

// All of a sandbox that does not change while it lives, and is no descriptor.
struct Record {
  // Of this sandbox alone, unlike the container's id, which a successor may have as well. From 1
  // on, growing.
  std::uint64_t number = 0;
  Identity identity;
  emulators::Program program;
  std::chrono::system_clock::time_point since;
};

// A line that names the version and guards the rest with a checksum, then
// sidecall.v1.SandboxRecord.
[[nodiscard]] std::string encode(const Record& record);
// That line and the payload: what a file of this release holds, whatever the payload is.
[[nodiscard]] std::string sealed(std::string_view payload);
// Refuses another version and whatever is damaged: nothing is guessed. The number is the caller's
// to know.
[[nodiscard]] Result<Record> decode_record(std::uint64_t number, std::string_view bytes);

}  // namespace sidecall::agent
