#include "emulators/uts_layouts.h"

#include <sys/personality.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace sidecall::emulators {
namespace {

constexpr std::size_t kField = 65;  // of struct utsname, with its NUL
constexpr std::size_t kOldField = 9;
static_assert(sizeof(utsname) == 6 * kField);

constexpr std::size_t kRelease = 2;  // the field's place
constexpr std::size_t kMachine = 4;

// override_release() of kernel/sys.c. The kernel's own rule for what the digits end with: anything
// but digits and dots, or the third dot.
std::string release_2_6(std::string_view release) {
  std::size_t end = 0;
  for (int dots = 0; end < release.size(); ++end) {
    const char c = release[end];
    if (c == '.' ? ++dots == 3 : c < '0' || c > '9') break;
  }
  unsigned second = 0;
  if (const auto dot = release.find('.'); dot != std::string_view::npos) {
    // Without digits there it stays 0.
    std::from_chars(release.data() + dot + 1, release.data() + release.size(), second);
  }
  return "2.6." + std::to_string(60 + second) + std::string(release.substr(end));
}

// COMPAT_UTS_MACHINE of arch/x86 and arch/arm64. It is written with NULs of its own, over all of
// the name that was there.
std::string_view machine_32(kernel::Abi abi) {
  using namespace std::string_view_literals;
  return abi == kernel::Abi::kAArch64 ? "armv8l\0\0"sv : "i686\0\0"sv;
}

}  // namespace

std::string uts_bytes(const utsname& names, UtsLayout layout, std::uint32_t personality,
                      kernel::Abi abi) {
  std::string_view fields(reinterpret_cast<const char*>(&names), sizeof names);
  const std::size_t field = layout == UtsLayout::kOldOldUname ? kOldField : kField;
  std::string bytes;
  for (std::size_t at = 0; at < (layout == UtsLayout::kUname ? 6U : 5U); ++at) {
    // A field of the oldest layout ends with a NUL whatever is in it.
    const auto text = fields.substr(at * kField, layout == UtsLayout::kOldOldUname ? 8 : kField);
    bytes.append(text);
    bytes.append(field - text.size(), '\0');
  }
  const auto put = [&](std::size_t at, std::string_view text) {
    bytes.replace(at * field, text.size(), text);
  };
  if ((personality & UNAME26) != 0) {
    const std::string release = release_2_6(names.release).substr(0, field - 1);
    put(kRelease, {release.c_str(), release.size() + 1});  // what is behind the NUL stays
  }
  if ((personality & PER_MASK) == PER_LINUX32) put(kMachine, machine_32(abi));
  return bytes;
}

}  // namespace sidecall::emulators
