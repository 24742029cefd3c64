// What a body does to itself, in ways that are not to last.
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace sidecall::testing {

// In a process of its own, so that ids, root and namespaces of the caller stay as they are.
template <typename Act>
long forked(Act act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act() == 0 ? 0 : errno);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 0) return 0;
  errno = WEXITSTATUS(status);
  return -1;
}

// In the calling thread's effective set.
inline bool set_capability(int capability, bool on) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  const auto bit = static_cast<unsigned>(capability);
  const unsigned mask = 1U << (bit % 32);
  unsigned& effective = data[bit / 32].effective;
  effective = on ? effective | mask : effective & ~mask;
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}
inline bool drop_capability(int capability) {
  return set_capability(capability, false);
}

}  // namespace sidecall::testing
