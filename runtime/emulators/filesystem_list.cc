#include "emulators/filesystem_list.h"

#include <algorithm>
#include <array>
#include <optional>

namespace sidecall::emulators {
namespace {

constexpr std::array<std::string_view, 9> kContainerTypes = {
    "cgroup2", "devpts", "fuse", "mqueue", "overlay", "proc", "ramfs", "sysfs", "tmpfs"};
constexpr std::array<std::string_view, 13> kDeviceTypes = {
    "btrfs",   "erofs", "exfat", "ext2",     "ext3", "ext4", "f2fs",
    "iso9660", "msdos", "ntfs3", "squashfs", "vfat", "xfs"};

std::optional<FilesystemList::Kind> kind_of(std::string_view type) {
  const auto has = [&](const auto& list) {
    return std::find(list.begin(), list.end(), type) != list.end();
  };
  if (has(kContainerTypes)) return FilesystemList::Kind::kContainer;
  if (has(kDeviceTypes)) return FilesystemList::Kind::kDevice;
  return std::nullopt;
}

std::string known_types() {
  std::string names;
  for (const auto type : kContainerTypes) names.append(" ").append(type);
  for (const auto type : kDeviceTypes) names.append(" ").append(type);
  return names;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Takes what stands before the next `separator`, or all of it.
std::string_view take_until(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

bool FilesystemList::Entry::allows(std::string_view data) const {
  if (any_option) return true;
  while (!data.empty()) {
    std::string_view option = take_until(data, ',');
    const auto key = take_until(option, '=');
    // As the kernel does, an empty one is passed over.
    if (!key.empty() && !options.contains(key)) return false;
  }
  return true;
}

Result<FilesystemList> FilesystemList::parse(const std::vector<std::string>& entries) {
  FilesystemList list;
  for (const std::string& text : entries) {
    std::string_view rest = text;
    Entry entry;
    entry.type = trimmed(take_until(rest, ':'));
    const auto kind = kind_of(entry.type);
    if (!kind) {
      return failure("\"" + text + "\" is of no type that can be mounted; there are" +
                     known_types());
    }
    entry.kind = *kind;
    if (list.find(entry.type) != nullptr) return failure("\"" + entry.type + "\" is there twice");
    while (!rest.empty()) {
      const auto option = trimmed(take_until(rest, ','));
      if (option.empty() || option.find('=') != std::string_view::npos) {
        return failure("\"" + text +
                       "\": options are names with commas between, or *: \"tmpfs: size,mode\"");
      }
      if (option == "*") {
        entry.any_option = true;
      } else {
        entry.options.emplace(option);
      }
    }
    list.entries_.push_back(std::move(entry));
  }
  return list;
}

const FilesystemList::Entry* FilesystemList::find(std::string_view type) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.type == type; });
  return found == entries_.end() ? nullptr : &*found;
}

}  // namespace sidecall::emulators
