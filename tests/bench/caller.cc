#include "bench/caller.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace sidecall::bench {
namespace {

int obey(int socket, const std::function<bool()>& call) {
  for (;;) {
    int count = 0;
    if (::read(socket, &count, sizeof count) != sizeof count) return 0;
    const auto start = std::chrono::steady_clock::now();
    for (int made = 0; made < count; ++made) {
      if (!call()) return 1;
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    const double mean = took.count() / count;
    if (::write(socket, &mean, sizeof mean) != sizeof mean) return 1;
  }
}

}  // namespace

Result<Caller> Caller::start(long nr, const placement::CpuSet& cpus,
                             const std::function<bool()>& call) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return errno_failure("making a socket pair");
  }
  UniqueFd ours(pair[0]);
  UniqueFd theirs(pair[1]);
  auto trial = kernel::Trial::start(nr, [&] {
    ours.reset();
    ::sched_setaffinity(0, sizeof(cpu_set_t), &cpus.mask());
    return obey(theirs.get(), call);
  });
  if (!trial) return pass_on(std::move(trial));
  return Caller(std::move(*trial), std::move(ours));
}

Result<double> Caller::run(int count) {
  double mean = 0;
  if (::write(commands_.get(), &count, sizeof count) != sizeof count ||
      ::read(commands_.get(), &mean, sizeof mean) != sizeof mean) {
    return failure("a caller got a wrong answer or died");
  }
  return mean;
}

}  // namespace sidecall::bench
