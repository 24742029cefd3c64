// Conditions on a call's registers, in the OCI runtime specification's terms (linux.seccomp args).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sidecall::emulators {

// SCMP_CMP_*: unsigned comparisons of the whole 64-bit register.
enum class Compare : std::uint8_t {
  kNotEqual,
  kLess,
  kLessOrEqual,
  kEqual,
  kGreaterOrEqual,
  kGreater,
  kMaskedEqual,  // (register & value) == value_two, as OCI orders the two
};

struct Condition {
  std::uint8_t index = 0;  // 0..5
  Compare op = Compare::kEqual;
  std::uint64_t value = 0;
  std::uint64_t value_two = 0;
  friend bool operator==(const Condition&, const Condition&) = default;
};

// All must hold; an empty one always holds.
using Conditions = std::vector<Condition>;

[[nodiscard]] bool holds(const Condition& condition, const std::array<std::uint64_t, 6>& args);
[[nodiscard]] bool hold(std::span<const Condition> conditions,
                        const std::array<std::uint64_t, 6>& args);

}  // namespace sidecall::emulators
