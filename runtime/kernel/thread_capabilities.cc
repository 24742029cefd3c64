#include "kernel/thread_capabilities.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace sidecall::kernel {

bool read_capabilities(CapabilityData& data) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return ::syscall(SYS_capget, &header, data.data()) == 0;
}

bool write_capabilities(const CapabilityData& data) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

CapabilityData with_effective(CapabilityData data, std::uint64_t effective) {
  data[0].effective = data[0].permitted & static_cast<__u32>(effective);
  data[1].effective = data[1].permitted & static_cast<__u32>(effective >> 32U);
  return data;
}

}  // namespace sidecall::kernel
