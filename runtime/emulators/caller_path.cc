#include "emulators/caller_path.h"

#include <fcntl.h>

namespace sidecall::emulators {
namespace {

constexpr std::string_view kSelf = "/proc/self";
constexpr std::string_view kThreadSelf = "/proc/thread-self";

// Whether the path is `directory` or below it.
bool is_within(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace

std::string with_own_numbers(kernel::Target& target, std::string path,
                             const kernel::Credentials& credentials) {
  const bool process = is_within(path, kSelf);
  if (!process && !is_within(path, kThreadSelf)) return path;
  const auto level = target.proc_level(credentials);
  if (!level || *level >= credentials.tgids.size() || *level >= credentials.tids.size()) {
    return path;
  }
  std::string own = "/proc/" + std::to_string(credentials.tgids[*level]);
  if (!process) own += "/task/" + std::to_string(credentials.tids[*level]);
  path.replace(0, process ? kSelf.size() : kThreadSelf.size(), own);
  return path;
}

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
  path.text = with_own_numbers(target, std::move(text), credentials);
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
