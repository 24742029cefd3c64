// sidecall-worker: serves the calls of one sandbox. Started by sidecalld or `sidecall run`, with
// the descriptors that worker/protocol.h names; it is of no use by itself.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/file.h"
#include "kernel/privileges.h"
#include "worker/worker.h"

namespace {

using namespace sidecall;  // NOLINT(google-build-using-namespace): a program's main file
using namespace sidecall::worker;

// A program has a few emulators and routes: it is never near this.
constexpr std::size_t kMostProgramBytes = 16U << 20U;

void ignore_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;  // NOLINT
  ::sigaction(SIGPIPE, &action, nullptr);
  // Only to make a blocked RECV return: Receiver::nudge().
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, nullptr);
}

Result<void> serve() {
  UniqueFd control(kControlFd);
  UniqueFd memory(kStatisticsFd);
  UniqueFd program_file(kProgramFd);
  for (const int fd : {kControlFd, kStatisticsFd, kProgramFd}) {
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return failure("this program is started by sidecalld or `sidecall run`, not by hand");
    }
  }
  if (::lseek(program_file.get(), 0, SEEK_SET) != 0) return errno_failure("the program");
  auto bytes = read_fd(program_file.get(), kMostProgramBytes);
  if (!bytes) return pass_on(std::move(bytes), "the program");
  auto program = emulators::decode(*bytes);
  if (!program) return pass_on(std::move(program));
  program_file.reset();
  auto statistics = Statistics::map(std::move(memory));
  if (!statistics) return pass_on(std::move(statistics));
  if (statistics->routes().size() != program->routes.size()) {
    return failure("the statistics are not those of the program");
  }
  auto limited = kernel::limit_own_memory(std::uint64_t{program->limits.memory_mib} << 20U);
  if (!limited) return limited;
  const bool sync_wake_up = program->sync_wake_up;
  auto dispatcher = Dispatcher::build(std::move(*program));
  if (!dispatcher) return pass_on(std::move(dispatcher));
  Worker worker(std::move(*dispatcher), sync_wake_up, std::move(*statistics), std::move(control));
  return worker.run();
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// Asked at the end: a worker in a workshop for mounts has no /proc, by which leaks are looked for.
extern "C" int __lsan_is_turned_off();  // NOLINT(bugprone-reserved-identifier)
extern "C" int __lsan_is_turned_off() {
  return ::access("/proc/self/task", R_OK) == 0 ? 0 : 1;
}
#endif

int main(int argc, char** argv) {
  ignore_signals();
  const auto served = serve();
  if (served) return 0;
  std::fprintf(stderr, "sidecall-worker %s: %s\n", argc > 1 ? argv[1] : "",
               served.error().message.c_str());
  return 1;
}
