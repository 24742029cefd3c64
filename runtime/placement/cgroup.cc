#include "placement/cgroup.h"

#include <algorithm>
#include <array>

#include "base/file.h"

namespace sidecall::placement {
namespace {

// Takes the text up to `separator` (or all of it) off the front.
std::string_view take_until(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

bool list_has(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    if (take_until(list, ',') == item) return true;
  }
  return false;
}

struct Membership {
  CgroupVersion version{};
  std::string_view path;
};

// A line is "ID:CONTROLLERS:PATH"; of cgroup v2 it is "0::PATH".
std::optional<Membership> find_membership(std::string_view cgroup_text,
                                          std::string_view controller) {
  std::optional<Membership> unified;
  while (!cgroup_text.empty()) {
    auto line = take_until(cgroup_text, '\n');
    const auto id = take_until(line, ':');
    const auto controllers = take_until(line, ':');
    if (list_has(controllers, controller)) return Membership{CgroupVersion::kV1, line};
    if (id == "0" && controllers.empty()) unified = Membership{CgroupVersion::kV2, line};
  }
  return unified;
}

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 3 < text.size()) {
      const auto digit = [&](std::size_t offset) { return text[at + offset] - '0'; };
      plain += static_cast<char>(digit(1) * 64 + digit(2) * 8 + digit(3));
      at += 3;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

// The part of `path` below directory `root`, without a slash at its end; nothing where it is
// elsewhere.
std::optional<std::string_view> part_below(std::string_view root, std::string_view path) {
  if (root == "/") root = "";
  if (!path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  // How the kernel shows what is outside of our cgroup namespace: no mount of ours has it.
  if (path == "/.." || path.starts_with("/../")) return std::nullopt;
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// The first mount that shows the directory. A line of mountinfo is
// "36 35 98:0 /root /point opts [optional…] - type source super_options", where root is which
// directory of the hierarchy is mounted there.
std::optional<CgroupDirectory> find_directory(std::string_view mountinfo,
                                              const Membership& membership,
                                              std::string_view controller) {
  while (!mountinfo.empty()) {
    auto line = take_until(mountinfo, '\n');
    std::array<std::string_view, 5> fields;
    for (auto& field : fields) field = take_until(line, ' ');
    const auto separator = line.find(" - ");
    if (separator == std::string_view::npos) continue;
    line.remove_prefix(separator + 3);
    const auto type = take_until(line, ' ');
    static_cast<void>(take_until(line, ' '));
    const bool matches = membership.version == CgroupVersion::kV2
                             ? type == "cgroup2"
                             : type == "cgroup" && list_has(line, controller);
    if (!matches) continue;
    const auto below = part_below(unescape(fields[3]), membership.path);
    if (!below) continue;
    const std::string point = unescape(fields[4]);
    return CgroupDirectory{
        .version = membership.version, .path = point + std::string(*below), .mount = point};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> CgroupDirectory::levels() const {
  std::vector<std::string> found;
  std::string level = path;
  while (level.size() > mount.size() && level.starts_with(mount)) {
    found.push_back(level);
    level.resize(level.rfind('/'));
  }
  found.push_back(mount);
  return found;
}

std::optional<CgroupDirectory> find_cgroup_in(std::string_view cgroup_text,
                                              std::string_view mountinfo_text,
                                              std::string_view controller) {
  const auto membership = find_membership(cgroup_text, controller);
  if (!membership) return std::nullopt;
  return find_directory(mountinfo_text, *membership, controller);
}

Result<std::optional<CgroupDirectory>> find_cgroup(pid_t pid, std::string_view controller) {
  const auto cgroups = read_file("/proc/" + std::to_string(pid) + "/cgroup");
  if (!cgroups) return tl::unexpected<Error>(cgroups.error());
  const auto mounts = read_file("/proc/self/mountinfo");
  if (!mounts) return tl::unexpected<Error>(mounts.error());
  return find_cgroup_in(*cgroups, *mounts, controller);
}

}  // namespace sidecall::placement
