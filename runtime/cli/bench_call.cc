#include "cli/bench_call.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace sidecall::cli {

BenchCalls::BenchCalls(BenchCall call)
    : call_(call), path_("/dev/shm/sidecall-bench-" + std::to_string(::gettid())) {}

bool BenchCalls::make_one() const {
  switch (call_) {
    case BenchCall::kValue:
      return ::syscall(SYS_getppid) == kBenchValue;
    case BenchCall::kDescriptor:
      return ::close(static_cast<int>(::syscall(SYS_getppid))) == 0;
    case BenchCall::kSysinfo: {
      struct sysinfo info {};
      return ::sysinfo(&info) == 0;
    }
    case BenchCall::kUname: {
      utsname names{};
      return ::uname(&names) == 0;
    }
    case BenchCall::kMknod: {
      const bool made = ::mknod(path_.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) == 0;
      return ::unlink(path_.c_str()) == 0 && made;
    }
    case BenchCall::kPlain:
      ::syscall(SYS_getuid);
      return true;
  }
  return false;
}

}  // namespace sidecall::cli
