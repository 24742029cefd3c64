#include "emulators/device_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>

namespace sidecall::emulators {
namespace {

// Widths of the two halves of the kernel's dev_t (MINORBITS in linux/kdev_t.h).
constexpr std::uint32_t kMaxMajor = (1U << 12) - 1;
constexpr std::uint32_t kMaxMinor = (1U << 20) - 1;

std::optional<std::uint32_t> parse_number(std::string_view text, std::uint32_t most) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number > most) return std::nullopt;
  return number;
}

}  // namespace

std::optional<DeviceList::Entry> DeviceList::parse_entry(std::string_view text) {
  if (text.size() < 5 || (text[0] != 'c' && text[0] != 'b') || text[1] != ' ') return std::nullopt;
  Entry entry;
  entry.type = text[0] == 'c' ? S_IFCHR : S_IFBLK;
  text.remove_prefix(2);
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto major = parse_number(text.substr(0, colon), kMaxMajor);
  if (!major) return std::nullopt;
  entry.major = *major;
  if (const auto minor_text = text.substr(colon + 1); minor_text != "*") {
    entry.minor = parse_number(minor_text, kMaxMinor);
    if (!entry.minor) return std::nullopt;
  }
  return entry;
}

Result<DeviceList> DeviceList::parse(const std::vector<std::string>& entries) {
  DeviceList list;
  for (const std::string& text : entries) {
    const auto entry = parse_entry(text);
    if (!entry) {
      return failure("\"" + text +
                     "\" is not a device: write it as \"c 1:3\", \"b 7:0\" or \"c 1:*\"");
    }
    list.entries_.push_back(*entry);
  }
  return list;
}

bool DeviceList::allows(mode_t mode, std::uint32_t major, std::uint32_t minor) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.type == (mode & S_IFMT) && entry.major == major &&
           entry.minor.value_or(minor) == minor;
  });
}

}  // namespace sidecall::emulators
