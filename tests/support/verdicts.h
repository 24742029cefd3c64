// What an emulator said, in a test's words.
#pragma once

#include <variant>

#include "emulators/verdict.h"

namespace sidecall::support {

[[nodiscard]] inline bool continues(const emulators::Verdict& verdict) {
  return std::holds_alternative<emulators::Continue>(verdict);
}
// 0 where it is no errno.
[[nodiscard]] inline int errno_of(const emulators::Verdict& verdict) {
  const auto* number = std::get_if<Errno>(&verdict);
  return number == nullptr ? 0 : number->value;
}
[[nodiscard]] inline bool succeeds(const emulators::Verdict& verdict) {
  const auto* value = std::get_if<emulators::Value>(&verdict);
  return value != nullptr && value->value == 0;
}

}  // namespace sidecall::support
