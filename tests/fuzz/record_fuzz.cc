// What an agent takes over from the run directory, damaged and sealed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall::agent;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(decode_record(1, bytes));
  const auto record = decode_record(1, sealed(bytes));
  if (!record) return 0;
  const auto again = decode_record(1, encode(*record));
  if (!again || again->identity.id != record->identity.id ||
      again->identity.annotations != record->identity.annotations ||
      again->since != record->since) {
    std::abort();
  }
  return 0;
}
