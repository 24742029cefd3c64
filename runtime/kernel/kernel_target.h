// The real Target.
#pragma once

#include <memory>
#include <optional>

#include "kernel/listener.h"
#include "kernel/target.h"
#include "kernel/thread_directory.h"

namespace sidecall::kernel {

// What the targets of one sandbox have in common. Owned by whoever serves it.
struct SandboxNamespaces {
  UniqueFd proc;        // on /proc of the supervisor's pid namespace
  NamespaceId user;     // of the sandbox's first process
  NamespaceId own_uts;  // of the serving thread: what a plain uname(2) of ours answers for
};

// Looks at the sandbox's first process. ESRCH where it has gone.
[[nodiscard]] SysResult<SandboxNamespaces> sandbox_namespaces(pid_t first_pid);

// The thread of one notification. Opens nothing before it is asked for something. Keeps references
// to the listener and the namespaces; lives on one thread.
class KernelTarget final : public Target {
 public:
  KernelTarget(Listener& listener, const SandboxNamespaces& namespaces, std::uint64_t id, pid_t tid)
      : listener_(listener), namespaces_(namespaces), id_(id), tid_(tid) {}

  [[nodiscard]] SysResult<void> read(std::uint64_t address, std::span<std::byte> into) override;
  [[nodiscard]] SysResult<std::string> read_string(std::uint64_t address,
                                                   std::size_t limit) override;
  [[nodiscard]] SysResult<void> write(std::uint64_t address,
                                      std::span<const std::byte> data) override;
  [[nodiscard]] SysResult<Credentials> credentials() override;
  [[nodiscard]] SysResult<bool> in_sandbox_user_namespace() override;
  [[nodiscard]] SysResult<utsname> uts() override;
  [[nodiscard]] SysResult<UniqueFd> root() override;
  [[nodiscard]] SysResult<UniqueFd> working_directory() override;
  [[nodiscard]] SysResult<UniqueFd> descriptor(int number) override;

 private:
  // The thread's directory, pinned: opened, and the notification found waiting after that.
  [[nodiscard]] SysResult<ThreadDirectory*> pinned();
  // `result`, or ESRCH where the caller has gone meanwhile.
  template <typename T>
  [[nodiscard]] SysResult<T> while_waiting(SysResult<T> result);

  Listener& listener_;
  const SandboxNamespaces& namespaces_;
  std::uint64_t id_;
  pid_t tid_;
  std::optional<ThreadDirectory> directory_;
};

}  // namespace sidecall::kernel
