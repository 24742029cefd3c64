// What comes over the listener socket, and what a hook gets.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "oci/document_end.h"
#include "oci/state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto state = oci::parse_container_process_state(text);
  static_cast<void>(oci::parse_state(text));
  // What can be read is a whole document: the agent would not have waited for more of it.
  if (state && !oci::is_whole_document(text)) __builtin_trap();
  return 0;
}
