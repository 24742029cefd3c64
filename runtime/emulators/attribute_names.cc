#include "emulators/attribute_names.h"

#include <linux/limits.h>
#include <linux/xattr.h>

#include <algorithm>

namespace sidecall::emulators {
namespace {

bool is_of_a_kept_class(std::string_view name) {
  for (const std::string_view prefix : {XATTR_TRUSTED_PREFIX, XATTR_SECURITY_PREFIX}) {
    if (name.starts_with(prefix) && name.size() > prefix.size()) return true;
  }
  return false;
}

}  // namespace

Result<AttributeNames> AttributeNames::parse(const std::vector<std::string>& entries) {
  AttributeNames names;
  for (const std::string& entry : entries) {
    if (!is_of_a_kept_class(entry) || entry.size() > XATTR_NAME_MAX ||
        entry.find('*') < entry.size() - 1 || entry.find('\0') != std::string::npos) {
      return failure("\"" + entry +
                     "\" is no attribute that needs to be listed: write \"trusted.NAME\", "
                     "\"security.NAME\" or the beginning of one with a * at its end");
    }
    const bool prefix = entry.back() == '*';
    names.entries_.push_back(
        {.text = entry.substr(0, entry.size() - (prefix ? 1 : 0)), .prefix = prefix});
  }
  return names;
}

bool AttributeNames::allows(std::string_view name) const {
  if (name == XATTR_NAME_CAPS || name.find('\0') != std::string_view::npos) return false;
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.prefix ? name.starts_with(entry.text) : name == entry.text;
  });
}

}  // namespace sidecall::emulators
