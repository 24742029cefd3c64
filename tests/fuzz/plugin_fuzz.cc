// What plugins say, as the bridge takes it: whatever it lets through, the worker's decoder takes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "bridge/translate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  namespace remote = emulators::remote;
  v1::Description description;
  if (description.ParseFromArray(data, static_cast<int>(size))) {
    if (auto shapes = bridge::shapes_of(description)) {
      const auto bytes = encode(remote::FromBridge(remote::Described{1, std::move(*shapes)}));
      if (bytes.size() > remote::kMostMessageBytes) std::abort();
      if (!remote::decode_from_bridge(bytes)) std::abort();
    }
  }
  v1::ServeResponse response;
  if (response.ParseFromArray(data, static_cast<int>(size))) {
    if (auto translated = bridge::translate(response)) {
      const auto bytes = encode(remote::FromBridge(std::move(translated->answer)));
      if (!remote::decode_from_bridge(bytes)) std::abort();
    }
  }
  return 0;
}
