// The seam to the thread that made a notified call: its memory, credentials and view of files.
#pragma once

#include <sys/types.h>
#include <sys/utsname.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/listener.h"

namespace sidecall::kernel {

// Identity of a namespace: the inode of its file, on the one nsfs that there is.
struct NamespaceId {
  std::uint64_t inode = 0;
  friend bool operator==(const NamespaceId&, const NamespaceId&) = default;
};

// The credentials the kernel would judge the call by, as /proc/TID/status shows them to us: ids are
// those of our own user namespace, which is the sandbox's.
struct Credentials {
  uid_t fsuid = 0;
  gid_t fsgid = 0;
  std::vector<gid_t> groups;
  std::uint64_t effective_capabilities = 0;  // in the thread's own user namespace
  mode_t umask = 022;
  // The process and the thread by their numbers in each pid namespace that they are in, from the
  // one of our /proc inwards. Empty where the kernel shows none.
  std::vector<pid_t> tgids{};
  std::vector<pid_t> tids{};

  [[nodiscard]] bool has_capability(int capability) const {
    return (effective_capabilities >> static_cast<unsigned>(capability) & 1U) != 0;
  }
};

// No errno: the thread is out of our reach. It runs a program that the sandbox's root may not look
// into (ptrace(2), "access mode checking"), or the container's runtime before its execve(2). The
// call is then left to the kernel.
inline constexpr int kOutOfReach = 4096;

// The thread of one notification, for as long as that is served. Everything it gives is a copy
// taken from that very thread: identity is pinned first and the notification found waiting after
// each look, so that a reused thread id is never mistaken for it. Where the thread has gone, every
// call fails with ESRCH, and where it may not be looked at, with kOutOfReach. What is read is
// hostile.
class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  // Copies exactly `into.size()` bytes, or fails with EFAULT as copy_from_user(9) would.
  [[nodiscard]] virtual SysResult<void> read(std::uint64_t address, std::span<std::byte> into) = 0;
  // Copies a string up to its NUL, which is not part of the result. `limit` counts the NUL:
  // ENAMETOOLONG past it, EFAULT where memory ends before a NUL.
  [[nodiscard]] virtual SysResult<std::string> read_string(std::uint64_t address,
                                                           std::size_t limit) = 0;
  // Copies text from at most a page, as mount(2) does: to its NUL, the end of memory or 4095 bytes.
  // EFAULT where not a byte is there.
  [[nodiscard]] virtual SysResult<std::string> read_page(std::uint64_t address) = 0;
  // Writes all of `data`, or fails with EFAULT where the thread itself could not have written.
  [[nodiscard]] virtual SysResult<void> write(std::uint64_t address,
                                              std::span<const std::byte> data) = 0;

  [[nodiscard]] virtual SysResult<Credentials> credentials() = 0;
  // Whether the thread's user namespace is that of the sandbox's first process.
  [[nodiscard]] virtual SysResult<bool> in_sandbox_user_namespace() = 0;
  [[nodiscard]] virtual SysResult<bool> in_sandbox_pid_namespace() = 0;
  // A descriptor on one of the thread's namespaces: "mnt", "net", …
  [[nodiscard]] virtual SysResult<UniqueFd> open_namespace(const char* name) = 0;
  // uname(2) as the thread's own UTS namespace answers it.
  [[nodiscard]] virtual SysResult<utsname> uts() = 0;
  // personality(2): PER_* and its flags.
  [[nodiscard]] virtual SysResult<std::uint32_t> personality() = 0;

  // Our own number of the thread that has this one in the caller's pid namespace; 0 is the caller.
  // ESRCH where there is none, EOPNOTSUPP before Linux 6.11 for any but the caller itself.
  [[nodiscard]] virtual SysResult<pid_t> thread_of(pid_t number) = 0;

  // Which of the `credentials`' numbers its own /proc knows the thread by. ENOENT where it has no
  // /proc, or one that does not show the thread.
  [[nodiscard]] virtual SysResult<std::size_t> proc_level(const Credentials& credentials) = 0;

  // O_PATH descriptors on the thread's root and working directory and on what its descriptor
  // `number` refers to (EBADF where it has none).
  [[nodiscard]] virtual SysResult<UniqueFd> root() = 0;
  [[nodiscard]] virtual SysResult<UniqueFd> working_directory() = 0;
  [[nodiscard]] virtual SysResult<UniqueFd> descriptor(int number) = 0;
  // The path of the working directory below the thread's root: for people, not to be opened.
  [[nodiscard]] virtual SysResult<std::string> working_directory_name() = 0;
  // As descriptor(), for a call that wants an open file: EBADF also where the thread's is of
  // O_PATH.
  [[nodiscard]] virtual SysResult<UniqueFd> open_descriptor(int number) = 0;
};

}  // namespace sidecall::kernel
