#include "emulators/caller_path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

namespace sidecall::emulators {
namespace {

constexpr std::string_view kSelf = "/proc/self";
constexpr std::string_view kThreadSelf = "/proc/thread-self";

// Whether the path is `directory` or below it.
bool is_within(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

// Takes what stands before the next slash, and the slashes after it.
std::string_view take_component(std::string_view& path) {
  const auto component = path.substr(0, path.find('/'));
  path.remove_prefix(component.size());
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return component;
}

// The link's file, by its name's components.
std::optional<UniqueFd> open_link(kernel::Target& target, std::string_view& path) {
  const auto opened = [](SysResult<UniqueFd> file) {
    return file ? std::optional(std::move(*file)) : std::nullopt;
  };
  const auto name = take_component(path);
  if (name == "cwd") return opened(target.working_directory());
  if (name == "root") return opened(target.root());
  if (name != "fd") return std::nullopt;
  const auto digits = take_component(path);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  // As the kernel reads it: name_to_int().
  const bool exact = error == std::errc() && end == digits.data() + digits.size() && number >= 0 &&
                     (digits.front() != '0' || digits.size() == 1);
  return exact ? opened(target.descriptor(number)) : std::nullopt;
}

bool is_directory(const UniqueFd& file) {
  struct stat about {};
  return ::fstat(file.get(), &about) == 0 && S_ISDIR(about.st_mode);
}

// Whether /proc is one in which the caller finds itself, and what it has there its own: below
// /proc/self it is that of the process's first thread.
bool has_own(kernel::Target& target, const kernel::Credentials& credentials, bool process) {
  const auto level = target.proc_level(credentials);
  if (!level || *level >= credentials.tgids.size() || *level >= credentials.tids.size()) {
    return false;
  }
  return !process || credentials.tgids[*level] == credentials.tids[*level];
}

}  // namespace

std::optional<OwnLink> own_link(kernel::Target& target, std::string_view path,
                                const kernel::Credentials& credentials) {
  const bool process = is_within(path, kSelf);
  if (!process && !is_within(path, kThreadSelf)) return std::nullopt;
  std::string_view rest = path.substr(process ? kSelf.size() : kThreadSelf.size());
  take_component(rest);  // the slashes
  if (rest.empty() || !has_own(target, credentials, process)) return std::nullopt;
  auto file = open_link(target, rest);
  if (!file) return std::nullopt;
  return OwnLink{.file = std::move(*file), .rest = std::string(rest), .ends = !path.ends_with('/')};
}

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
                                  kernel::Credentials credentials, OwnLinks links) {
  CallerPath path;
  auto root = target.root();
  if (!root) return tl::unexpected<Errno>(root.error());
  path.view.root = std::move(*root);
  auto own = links == OwnLinks::kWalk ? std::nullopt : own_link(target, text, credentials);
  if (own && links == OwnLinks::kNotAtEnd && own->ends && own->rest.empty()) own.reset();
  if (own && is_directory(own->file)) {
    path.text = own->rest.empty() ? "." : std::move(own->rest);
    path.view.base = std::move(own->file);
    path.view.credentials = std::move(credentials);
    return path;
  }
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
