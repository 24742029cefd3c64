// config.json: reading, editing and printing; an edit that is taken back leaves what was there.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oci/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto config = oci::Config::parse(text);
  if (!config) return 0;
  const std::string before = config->print();
  if (!oci::Config::parse(before)) std::abort();
  static_cast<void>(config->seccomp());
  static_cast<void>(config->bounding_capabilities());
  const oci::Hook hook{.path = "/fuzz/hook", .args = {"hook"}, .env = {}, .timeout_seconds = 1};
  config->add_hook("poststop", hook);
  config->set_annotation("dev.sidecall.fuzz", "1");
  if (!oci::Config::parse(config->print())) std::abort();
  return 0;
}
