// /proc/TID of a thread, pinned.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/target.h"

namespace sidecall::kernel {

// A descriptor on /proc/TID stays bound to that very task: once it has gone every look fails with
// ESRCH, even when its number names another thread by then. Where we may not look: kOutOfReach.
class ThreadDirectory {
 public:
  // `proc` is a descriptor on /proc; ESRCH where there is no such thread.
  [[nodiscard]] static SysResult<ThreadDirectory> open(int proc, pid_t tid);

  // Opens a file of the directory, for example "mem" or "ns/uts".
  [[nodiscard]] SysResult<UniqueFd> open_file(const char* name, int flags) const;
  // What the link "cwd" or "root" says.
  [[nodiscard]] SysResult<std::string> link(const char* name) const;
  [[nodiscard]] SysResult<NamespaceId> namespace_id(const char* name) const;
  [[nodiscard]] SysResult<Credentials> credentials() const;
  // The CPU that it ran on last.
  [[nodiscard]] SysResult<unsigned> last_cpu() const;
  // personality(2).
  [[nodiscard]] SysResult<std::uint32_t> personality() const;
  // O_* of the thread's descriptor `number`.
  [[nodiscard]] SysResult<int> descriptor_flags(int number) const;

 private:
  explicit ThreadDirectory(UniqueFd fd) : fd_(std::move(fd)) {}
  // Reads a file from its start through `kept`, which is opened the first time: that costs more
  // than a small file's content.
  [[nodiscard]] SysResult<std::size_t> read_kept(UniqueFd& kept, const char* name,
                                                 std::span<char> into) const;

  UniqueFd fd_;
  mutable UniqueFd status_;
  mutable UniqueFd personality_;
};

// From the text of /proc/TID/status; EINVAL where a line that is needed is missing or malformed.
[[nodiscard]] SysResult<Credentials> parse_status(std::string_view text);

}  // namespace sidecall::kernel
