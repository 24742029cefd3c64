// What an emulator asks the sandbox's helper for: one privileged step, as plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::emulators {

// What the fields mean is the emulator's own business: it writes the step in emulate() and reads it
// in perform().
struct Step {
  static constexpr std::size_t kMostTexts = 4;

  std::array<std::uint64_t, 8> numbers{};
  std::vector<std::string> texts;  // may hold any bytes
  std::vector<UniqueFd> fds;       // at most kMostFdsReceived
};

struct StepResult {
  std::int64_t value = 0;
  std::string bytes{};
  std::vector<UniqueFd> fds{};
};

// The most that a step or a result takes in bytes, on the wire between worker and helper. An
// extended attribute, the largest thing carried, has 64 KiB (XATTR_SIZE_MAX of linux/limits.h).
inline constexpr std::size_t kMostStepBytes = std::size_t{96} << 10U;

// `instance` is the emulator's, in Program::instances. Descriptors travel beside the bytes.
[[nodiscard]] std::string encode(std::uint32_t instance, const Step& step);

struct DecodedStep {
  std::uint32_t instance = 0;
  Step step;
};
// Fails on what encode() does not make.
[[nodiscard]] Result<DecodedStep> decode_step(std::string_view bytes, std::vector<UniqueFd> fds);

[[nodiscard]] std::string encode(const SysResult<StepResult>& result);
// The inner result is the helper's answer; the outer fails on what encode() does not make.
[[nodiscard]] Result<SysResult<StepResult>> decode_result(std::string_view bytes,
                                                          std::vector<UniqueFd> fds);

}  // namespace sidecall::emulators
