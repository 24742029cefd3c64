// The calls that callers of `sidecall bench` make.
#pragma once

#include <cstdint>
#include <string>

namespace sidecall::cli {

enum class BenchCall : std::uint8_t {
  kValue,       // getppid, which answers kBenchValue
  kDescriptor,  // getppid, which answers a descriptor; and close
  kSysinfo,
  kUname,
  kMknod,  // a null device on tmpfs, and unlink
  kPlain,  // getuid, which is not notified
};

inline constexpr long kBenchValue = 4242;

// Makes one call after another, of one kind. A value of one thread.
class BenchCalls {
 public:
  explicit BenchCalls(BenchCall call);
  // False where the answer was wrong.
  [[nodiscard]] bool make_one() const;

 private:
  BenchCall call_;
  std::string path_;  // of the node
};

}  // namespace sidecall::cli
