// Policy JSON: whatever it is, it is read or refused, and what was read compiles or is refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "oci/seccomp.h"
#include "policy/compile.h"
#include "policy/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto policy = policy::parse_policy("fuzz", text);
  if (!policy) return 0;
  static_cast<void>(policy::compile_program(*policy));
  static_cast<void>(policy::compile_profile(*policy, oci::allow_all_profile()));
  return 0;
}
