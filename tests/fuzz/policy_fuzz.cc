// Policy JSON: whatever it is, it is read or refused with one line, and what was read compiles or
// is refused with one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oci/seccomp.h"
#include "policy/compile.h"
#include "policy/policy.h"

namespace {

template <typename T>
void require_one_line(const sidecall::Result<T>& result) {
  if (result) return;
  const std::string& message = result.error().message;
  if (message.empty() || message.find('\n') != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto policy = policy::parse_policy("fuzz", text);
  require_one_line(policy);
  if (!policy) return 0;
  const auto program = policy::compile_program(*policy);
  require_one_line(program);
  if (program && !emulators::decode(emulators::encode(*program))) std::abort();
  auto base = oci::allow_all_profile();
  require_one_line(policy::compile_profile(*policy, base));
  base.default_action = "SCMP_ACT_ERRNO";
  require_one_line(policy::compile_profile(*policy, base));
  return 0;
}
