// The real Target.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>

#include "kernel/listener.h"
#include "kernel/target.h"
#include "kernel/thread_cache.h"
#include "kernel/thread_directory.h"

namespace sidecall::kernel {

// What the targets of one sandbox have in common. Owned by whoever serves it.
struct SandboxNamespaces {
  UniqueFd proc;        // on /proc of the supervisor's pid namespace
  NamespaceId user;     // of the sandbox's first process
  NamespaceId pids;     // likewise
  UniqueFd uts;         // likewise
  NamespaceId own_uts;  // of the serving threads: what a plain uname(2) of ours answers for
  // We live in the sandbox's user namespace, which is not the host's: what is written by thread
  // number can then reach nobody outside the sandbox, whoever has the number by that time.
  bool confined = false;
};

// Looks at the sandbox's first process through `proc`, a descriptor on /proc, which it duplicates.
// ESRCH where the process has gone. To be asked with the host's rights: before its execve(2) the
// process is the container's runtime, which the sandbox's own root may not look at.
[[nodiscard]] SysResult<SandboxNamespaces> sandbox_namespaces(int proc, pid_t first_pid);

// Puts the calling thread, and with it those that it starts, into the sandbox's UTS namespace, so
// that most of its callers' names are a plain uname(2) away.
[[nodiscard]] SysResult<void> join_uts_namespace(SandboxNamespaces& namespaces);

// The thread of one notification. Opens nothing before it is asked for something. Keeps references
// to its arguments; lives on one thread, whose `threads` are.
class KernelTarget final : public Target {
 public:
  KernelTarget(Listener& listener, const SandboxNamespaces& namespaces, ThreadCache& threads,
               std::uint64_t id, pid_t tid)
      : listener_(listener), namespaces_(namespaces), threads_(threads), id_(id), tid_(tid) {}

  [[nodiscard]] SysResult<void> read(std::uint64_t address, std::span<std::byte> into) override;
  [[nodiscard]] SysResult<std::string> read_string(std::uint64_t address,
                                                   std::size_t limit) override;
  [[nodiscard]] SysResult<std::string> read_page(std::uint64_t address) override;
  [[nodiscard]] SysResult<void> write(std::uint64_t address,
                                      std::span<const std::byte> data) override;
  [[nodiscard]] SysResult<Credentials> credentials() override;
  [[nodiscard]] SysResult<bool> in_sandbox_user_namespace() override;
  [[nodiscard]] SysResult<bool> in_sandbox_pid_namespace() override;
  [[nodiscard]] SysResult<UniqueFd> open_namespace(const char* name) override;
  [[nodiscard]] SysResult<utsname> uts() override;
  [[nodiscard]] SysResult<std::uint32_t> personality() override;
  [[nodiscard]] SysResult<pid_t> thread_of(pid_t number) override;
  [[nodiscard]] SysResult<std::size_t> proc_level(const Credentials& credentials) override;
  [[nodiscard]] SysResult<UniqueFd> root() override;
  [[nodiscard]] SysResult<UniqueFd> working_directory() override;
  [[nodiscard]] SysResult<std::string> working_directory_name() override;
  [[nodiscard]] SysResult<UniqueFd> descriptor(int number) override;
  [[nodiscard]] SysResult<UniqueFd> open_descriptor(int number) override;

 private:
  // What `look` finds in the thread's directory, with the notification found waiting after it.
  template <typename Look>
  [[nodiscard]] std::invoke_result_t<Look&, const ThreadDirectory&> look(Look look);
  // `result`, or ESRCH where the caller has gone meanwhile.
  template <typename T>
  [[nodiscard]] SysResult<T> while_waiting(SysResult<T> result);
  // Of a look at one of the caller's descriptors: also EBADF where it has no such one.
  template <typename T>
  [[nodiscard]] SysResult<T> of_descriptor(SysResult<T> looked);

  Listener& listener_;
  const SandboxNamespaces& namespaces_;
  ThreadCache& threads_;
  std::uint64_t id_;
  pid_t tid_;
  // Nobody but the thread itself changes them, and that waits.
  std::optional<Credentials> credentials_;
  const ThreadDirectory* directory_ = nullptr;  // in threads_; pinned once it is not null
};

}  // namespace sidecall::kernel
