// A seccomp filter as a runtime would install it, run in this process.
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstdint>
#include <iosfwd>
#include <vector>

#include "base/result.h"
#include "kernel/abi.h"
#include "oci/seccomp.h"
#include "policy/filter_rule.h"

namespace sidecall::policy {

using Registers = std::array<std::uint64_t, 6>;

class Filter {
 public:
  // Builds the profile with libseccomp in the steps of crun and runc: rules with the default action
  // are skipped, and two conditions on one register make each condition a rule of its own. A rule
  // that libseccomp refuses is an error.
  [[nodiscard]] static Result<Filter> build(const oci::SeccompProfile& profile);

  // What the kernel would do with the call. Registers of a 32-bit ABI are given zero-extended.
  [[nodiscard]] FilterAction decide(kernel::Abi abi, int nr, const Registers& args) const;
  [[nodiscard]] std::size_t size() const { return program_.size(); }
  // On the calling thread, for good and without a listener: what is notified fails with ENOSYS.
  // Takes CAP_SYS_ADMIN in the thread's user namespace.
  [[nodiscard]] SysResult<void> install() const;

 private:
  std::vector<sock_filter> program_;
};

// How GoogleTest shows them.
void PrintTo(const FilterAction& action, std::ostream* out);
void PrintTo(const FilterRule& rule, std::ostream* out);

}  // namespace sidecall::policy
