#include "cli/base_profile.h"

#include <sys/utsname.h>

#include <cstdlib>

#include "base/file.h"

namespace sidecall::cli {
namespace {

// What a default profile's includes and excludes are resolved against: this host.
oci::ProfileContext context_here(std::vector<std::string> capabilities) {
  oci::ProfileContext context{.capabilities = std::move(capabilities)};
#ifdef __aarch64__
  context.architecture = "arm64";
#endif
  utsname name{};
  if (::uname(&name) == 0) {
    // A release that cannot be read leaves 0.0: rules with a minKernel then do not apply.
    char* end = nullptr;
    context.kernel_major = static_cast<unsigned>(std::strtoul(name.release, &end, 10));
    if (*end == '.')
      context.kernel_minor = static_cast<unsigned>(std::strtoul(end + 1, nullptr, 10));
  }
  return context;
}

}  // namespace

void take_base_profile(CommandLine& command, BaseProfile& base) {
  command
      .text("--base", base.path,
            "The profile to start from: OCI, containers-common or docker form (default: one that "
            "allows everything)")
      .repeatable("--cap", "CAP_...", base.capabilities,
                  "A capability that the container has (repeatable), for --base's includes");
}

Result<oci::SeccompProfile> load_base_profile(const BaseProfile& base) {
  if (base.path.empty()) return oci::allow_all_profile();
  auto text = read_file(base.path);
  if (!text) return pass_on(std::move(text));
  auto profile = oci::parse_profile(*text, context_here(base.capabilities));
  if (!profile) return pass_on(std::move(profile), base.path);
  return profile;
}

}  // namespace sidecall::cli
