// Sets of CPUs, in the kernel's list format.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace sidecall::placement {

// A value. Holds up to CPU_SETSIZE (1024) CPUs.
class CpuSet {
 public:
  CpuSet() { CPU_ZERO(&mask_); }
  explicit CpuSet(const cpu_set_t& mask) : mask_(mask) {}

  [[nodiscard]] static CpuSet of(unsigned cpu);
  // "0-3,8": what cpuset.cpus.effective and Cpus_allowed_list hold. White space around is ignored.
  [[nodiscard]] static Result<CpuSet> parse(std::string_view list);
  [[nodiscard]] std::string list() const;

  [[nodiscard]] CpuSet intersection(const CpuSet& other) const;
  [[nodiscard]] bool has(unsigned cpu) const { return CPU_ISSET(cpu, &mask_) != 0; }
  [[nodiscard]] bool empty() const { return CPU_COUNT(&mask_) == 0; }
  [[nodiscard]] int count() const { return CPU_COUNT(&mask_); }
  [[nodiscard]] const cpu_set_t& mask() const { return mask_; }
  friend bool operator==(const CpuSet& a, const CpuSet& b) {
    return CPU_EQUAL(&a.mask_, &b.mask_) != 0;
  }

 private:
  cpu_set_t mask_;
};

}  // namespace sidecall::placement
