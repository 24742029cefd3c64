// config.json: what is read prints and reads again as the same, and an edit that is taken back
// leaves what was there.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "oci/config.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto config = oci::Config::parse(text);
  if (!config) return 0;
  {
    const auto again = oci::Config::parse(config->print());
    require(again && again->print() == config->print());
  }
  static_cast<void>(config->seccomp());
  static_cast<void>(config->bounding_capabilities());

  const oci::Hook hook{.path = "/fuzz/hook", .args = {"hook"}, .env = {}, .timeout_seconds = 1};
  // Once without them, as removing them also takes out the empty lists that were there.
  config->remove_hooks("poststop", hook.path);
  config->remove_annotation("dev.sidecall.fuzz");
  const std::string before = config->print();
  const std::string seccomp = config->seccomp_text();
  config->add_hook("poststop", hook);
  config->set_annotation("dev.sidecall.fuzz", "1");
  if (!seccomp.empty()) config->set_seccomp(oci::allow_all_profile());
  require(oci::Config::parse(config->print()) && config->print() != before);
  config->remove_hooks("poststop", hook.path);
  config->remove_annotation("dev.sidecall.fuzz");
  require(seccomp.empty() || config->set_seccomp_text(seccomp));
  const auto undone = oci::Config::parse(config->print());
  require(undone && !undone->annotations().contains("dev.sidecall.fuzz"));
  require(undone->seccomp_text() == seccomp);
  return 0;
}
