// A process in namespaces of its own whose chosen calls a real sidecall-worker serves.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "emulators/program.h"
#include "kernel/abi.h"
#include "worker/launch.h"

namespace sidecall::testing {

// What a body says about its checks. Used inside the child process.
class Checks {
 public:
  // Where `held` is false, `what` becomes a line of the outcome.
  void expect(bool held, const std::string& what);
  // The call gave 0 (or a number >= 0), or -1 with this errno; `result` is what it returned.
  void expect_ok(long result, const std::string& what);
  void expect_errno(long result, int number, const std::string& what);
  [[nodiscard]] const std::string& failures() const { return failures_; }

 private:
  std::string failures_;
};

using Body = std::function<void(Checks&)>;

struct SandboxOptions {
  emulators::Program program;
  bool user_namespace = true;  // ids 0..65535 inside are 100000..165535 outside
  // CLONE_NEW* beyond those of users, mounts and UTS. With CLONE_NEWPID the body runs in the first
  // process of its namespace, and /proc is that namespace's.
  int more_namespaces = 0;
  std::uint64_t memory_limit = 0;  // bytes; 0: none, and no cgroups of its own
  // Without: no filter and no worker, as in a container that nobody has prepared.
  bool served = true;
  // Runs in the child and gives the listener. By default every call of the program's routes is
  // notified, whatever its arguments.
  std::function<SysResult<UniqueFd>()> install_filter{};
  // Runs in the parent while the child is being served, for example to kill the worker and start
  // another in its place.
  std::function<void(worker::WorkerProcess&, pid_t child, int listener)> meanwhile{};
};

inline constexpr uid_t kOutsideRoot = 100000;

// The checks that failed, one a line: empty when all held. Infrastructure trouble is a line too.
// Natively the body has mounts and a host name of its own, and is otherwise root of the host.
[[nodiscard]] std::string run_natively(const Body& body);
[[nodiscard]] std::string run_in_sandbox(const SandboxOptions& options, const Body& body);

// Of this machine's tests: programs whose one emulator serves the given calls of an ABI.
[[nodiscard]] emulators::Program emulate(const std::string& emulator, emulators::Options options,
                                         const std::vector<std::pair<kernel::Abi, int>>& calls);

}  // namespace sidecall::testing
