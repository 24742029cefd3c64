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
constexpr std::array<std::string_view, 4> kNetworkTypes = {"cifs", "nfs", "nfs4", "smb3"};

// Options that say where a server is.
constexpr std::array<std::string_view, 3> kAddresses = {"addr", "ip", "mountaddr"};

template <std::size_t N>
bool has(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::optional<FilesystemList::Kind> kind_of(std::string_view type) {
  if (has(kContainerTypes, type)) return FilesystemList::Kind::kContainer;
  if (has(kDeviceTypes, type)) return FilesystemList::Kind::kDevice;
  if (has(kNetworkTypes, type)) return FilesystemList::Kind::kNetwork;
  return std::nullopt;
}

std::string known_types() {
  std::string names;
  for (const auto type : kContainerTypes) names.append(" ").append(type);
  for (const auto type : kDeviceTypes) names.append(" ").append(type);
  for (const auto type : kNetworkTypes) names.append(" ").append(type);
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

// Whether the option may stand in an entry of that kind.
bool can_be_listed(std::string_view option, FilesystemList::Kind kind) {
  const std::string_view key = option.substr(0, option.find('='));
  const bool has_value = key.size() + 1 < option.size();
  if (kind != FilesystemList::Kind::kNetwork) return key.size() == option.size() && !key.empty();
  return !key.empty() && option != "*" && has_value == has(kAddresses, key) &&
         (has_value || key.size() == option.size());
}

}  // namespace

bool FilesystemList::Entry::has_address() const {
  return std::any_of(options.begin(), options.end(), [](const std::string& option) {
    return option.starts_with("addr=") || option.starts_with("ip=");
  });
}

bool FilesystemList::Entry::allows_of_server(std::string_view data) const {
  // What separates options is not always what it looks like (cifs: "sep=", ",," in a password,
  // security modules: quotes): such data is for nobody.
  if (data.find_first_of("\"'\\") != std::string_view::npos || data.starts_with("sep="))
    return false;
  bool has_address = false;
  for (std::string_view rest = data; !rest.empty();) {
    const auto option = take_until(rest, ',');
    const auto key = option.substr(0, option.find('='));
    if (key.empty() || !options.contains(has(kAddresses, key) ? option : key)) return false;
    has_address |= key == "addr" || key == "ip";
  }
  return has_address;
}

bool FilesystemList::Entry::allows(std::string_view data) const {
  if (kind == Kind::kNetwork) return allows_of_server(data);
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
      if (!can_be_listed(option, entry.kind)) {
        return failure("\"" + text + "\": options are names with commas between, or *: " +
                       "\"tmpfs: size,mode\"; of servers also addresses: " +
                       "\"nfs4: addr=192.0.2.1,vers\", and no *");
      }
      if (option == "*") {
        entry.any_option = true;
      } else {
        entry.options.emplace(option);
      }
    }
    if (entry.kind == Kind::kNetwork && !entry.has_address()) {
      return failure("\"" + text + "\" names no server: \"nfs4: addr=192.0.2.1,vers\"");
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
