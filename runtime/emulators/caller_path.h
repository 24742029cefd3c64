// A path argument, copied, and from where its caller would have walked it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernel/actor.h"
#include "kernel/target.h"

namespace sidecall::emulators {

struct CallerPath {
  std::string text;
  kernel::CallerView view;
};

// A path below /proc/self or /proc/thread-self rewritten to the caller's own numbers there: it is
// another thread that will walk it. Any other path as it is.
[[nodiscard]] std::string with_own_numbers(kernel::Target& target, std::string path,
                                           const kernel::Credentials& credentials);

// What one of the caller's own links below /proc/self or /proc/thread-self (fd/N, cwd, root) refers
// to. Anybody may follow those of its own, which to another thread may be refused (proc(5): ptrace
// access mode): they are not walked but looked up.
struct OwnLink {
  UniqueFd file;     // of O_PATH
  std::string rest;  // of the path, without the slash before it
  bool ends = true;  // nothing follows, not even a slash
};
// Empty for any other path, where there is no such link, and where it is another thread's: below
// /proc/self for a thread that is not its process's first.
[[nodiscard]] std::optional<OwnLink> own_link(kernel::Target& target, std::string_view path,
                                              const kernel::Credentials& credentials);

enum class OwnLinks : std::uint8_t {
  kFollow,    // looked up, and the path starts at the directory that one refers to
  kNotAtEnd,  // the same where something follows: the call is about the link itself
  kWalk,      // not looked up: other paths of the call start at the working directory
};

// Completes the view of a path that has been read. `dirfd` is as openat(2) takes it. EBADF where
// the path is relative and the caller has no such descriptor. A path below an own_link() to a
// directory starts there, as `links` says; any other is taken with_own_numbers().
[[nodiscard]] SysResult<CallerPath> caller_path(kernel::Target& target, std::string text, int dirfd,
                                                kernel::Credentials credentials, OwnLinks links);

// The directory and the last component of a path, for calls that make or remove a name. The
// directory ends in "/.": it is walked through, as the kernel does, and not merely named. The name
// keeps its trailing slashes.
struct SplitPath {
  std::string directory;
  std::string name;
};
[[nodiscard]] SplitPath split_path(std::string_view path);

}  // namespace sidecall::emulators
