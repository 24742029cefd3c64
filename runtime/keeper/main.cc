// sidecall-keeper: holds descriptors while sidecalld is away. Started by sidecalld, with the socket
// that keeper/protocol.h names; it is of no use by itself.
#include <fcntl.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdio>

#include "keeper/keeper.h"
#include "kernel/privileges.h"

int main() {
  using namespace sidecall;  // NOLINT(google-build-using-namespace): a program's main file
  UniqueFd listening(keeper::kListeningFd);
  if (::fcntl(listening.get(), F_SETFD, FD_CLOEXEC) != 0) {
    static_cast<void>(listening.release());
    std::fputs("sidecall-keeper: this program is started by sidecalld, not by hand\n", stderr);
    return 1;
  }
  // Again, so that the peer that an agent sees there is this process: unix(7), SO_PEERCRED.
  if (::listen(listening.get(), 1) != 0) return 1;
  // Nothing that it does takes a privilege, and what it holds is nobody's to look at.
  if (!kernel::drop_privileges(0, kernel::Duty::kHolding)) return 1;
  return keeper::Keeper(std::move(listening), {}).run() ? 0 : 1;
}
