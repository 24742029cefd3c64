// A seccomp filter built from an OCI profile, as the OCI runtimes build theirs.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "oci/seccomp.h"

namespace sidecall::cli {

class Filter {
 public:
  // Names that libseccomp does not know are skipped, as crun and runc do. Conditions of one rule on
  // the same register are alternatives, also as they do. ABIs that the profile does not list get
  // ENOSYS.
  [[nodiscard]] static Result<Filter> build(const oci::SeccompProfile& profile);

  // Puts the calling thread, and all that it starts, under the filter for good. Gives the listener,
  // close-on-exec. Sets no_new_privs only where the kernel demands it (EACCES, seccomp(2)).
  // Allocates nothing: for the child of a fork.
  [[nodiscard]] SysResult<UniqueFd> install();

 private:
  Filter(std::vector<sock_filter> program, std::uint64_t flags)
      : program_(std::move(program)), flags_(flags) {}

  std::vector<sock_filter> program_;
  std::uint64_t flags_;  // SECCOMP_FILTER_FLAG_*
};

}  // namespace sidecall::cli
