// The worker's program; what decodes encodes to the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "emulators/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto program = emulators::decode(bytes);
  if (!program) return 0;
  const std::string encoded = emulators::encode(*program);
  const auto again = emulators::decode(encoded);
  if (!again || emulators::encode(*again) != encoded) std::abort();
  return 0;
}
