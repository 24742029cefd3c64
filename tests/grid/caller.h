// Ways to be another caller: a child, a thread, other credentials, other mounts, awkward memory.
// Whatever cannot be arranged breaks the case.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "grid/case.h"

namespace sidecall::grid {

// In a child of the case's process, waited for. `act` may be as violent as it likes.
void in_child(const Checks& check, const std::function<void()>& act);
// In a thread that is not the process's first. Shares directory, umask and descriptors with that
// one until it unshares them.
void in_thread(const std::function<void()>& act);
// In a thread with a working directory, root and umask of its own.
void in_thread_with_own_directory(const Checks& check, const std::function<void()>& act);

// The calling thread's effective capabilities become these (of what it is permitted).
void keep_capabilities(const Checks& check, std::initializer_list<int> capabilities);
void drop_capability(const Checks& check, int capability);

// Whose rights to files the calling thread has.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups{};
};
// Takes on the filesystem ids and groups, and then of capabilities exactly those given.
void act_as(const Checks& check, const Identity& who, std::initializer_list<int> capabilities);

// A mount namespace of the caller's own, from which nothing spreads.
void own_mounts(const Checks& check);
// `path`, a directory, becomes read-only in the caller's mount namespace.
void make_read_only(const Checks& check, const std::string& path);

void make_directory(const Checks& check, const std::string& path, mode_t mode = 0755);
void make_link(const Checks& check, const std::string& target, const std::string& path);
// An empty file, 0644.
void make_file(const Checks& check, const std::string& path);
void change_owner(const Checks& check, const std::string& path, uid_t uid, gid_t gid);
// An O_CLOEXEC descriptor, which the case's end closes.
[[nodiscard]] int open_descriptor(const Checks& check, const std::string& path, int flags);

[[nodiscard]] bool exists(const std::string& path);

// Two pages of which only the first can be read and written; they go with the process.
class Border {
 public:
  enum class Beyond : std::uint8_t { kUnmapped, kReadOnly, kNoAccess };
  Border(const Checks& check, Beyond beyond);

  // Where the second page begins.
  [[nodiscard]] char* line() const { return line_; }
  // Copies `text`, without a NUL of its own, so that its last byte is the last of the first page.
  [[nodiscard]] char* place_before(std::string_view text) const;

 private:
  char* line_ = nullptr;
};

}  // namespace sidecall::grid
