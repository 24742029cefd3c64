// A seccomp profile in either form; what was read prints to what reads the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oci/seccomp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const oci::ProfileContext context{.capabilities = {"CAP_SYS_ADMIN"}, .kernel_major = 6};
  const auto profile = oci::parse_profile(text, context);
  if (!profile) return 0;
  const std::string printed = oci::print_profile(*profile);
  const auto again = oci::parse_profile(printed, context);
  if (!again || oci::print_profile(*again) != printed) std::abort();
  return 0;
}
