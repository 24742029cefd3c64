#include "emulators/caller_path.h"

#include <fcntl.h>

namespace sidecall::emulators {
namespace {

// "/proc/self/x" by the caller's own number, if it starts so.
std::string with_own_numbers(std::string text, const kernel::Credentials& credentials) {
  const auto replaced = [&](std::string_view prefix, const std::string& by) {
    if (!text.starts_with(prefix)) return false;
    if (text.size() > prefix.size() && text[prefix.size()] != '/') return false;
    text.replace(0, prefix.size(), by);
    return true;
  };
  const std::string process = "/proc/" + std::to_string(credentials.own_tgid);
  if (credentials.own_tgid != 0 && !replaced("/proc/self", process)) {
    replaced("/proc/thread-self", process + "/task/" + std::to_string(credentials.own_tid));
  }
  return text;
}

}  // namespace

SysResult<CallerPath> caller_path(kernel::Target& target, std::string text, int dirfd,
                                  kernel::Credentials credentials) {
  CallerPath path;
  auto root = target.root();
  if (!root) return tl::unexpected<Errno>(root.error());
  path.view.root = std::move(*root);
  if (text.empty() || text.front() != '/') {
    auto base = dirfd == AT_FDCWD ? target.working_directory() : target.descriptor(dirfd);
    if (!base) return tl::unexpected<Errno>(base.error());
    path.view.base = std::move(*base);
  }
  path.text = with_own_numbers(std::move(text), credentials);
  path.view.credentials = std::move(credentials);
  return path;
}

SplitPath split_path(std::string_view path) {
  const auto last = path.find_last_not_of('/');
  if (last == std::string_view::npos) return {.directory = ".", .name = std::string(path)};
  const auto slash = path.find_last_of('/', last);
  if (slash == std::string_view::npos) return {.directory = ".", .name = std::string(path)};
  return {.directory = std::string(path.substr(0, slash)) + "/.",
          .name = std::string(path.substr(slash + 1))};
}

}  // namespace sidecall::emulators
