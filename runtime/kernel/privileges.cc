#include "kernel/privileges.h"

#include <grp.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>

#include "kernel/sanitized.h"

namespace sidecall::kernel {
namespace {

struct FreeCap {
  void operator()(void* memory) const { ::cap_free(memory); }
};
using CapState = std::unique_ptr<std::remove_pointer_t<cap_t>, FreeCap>;

bool set_flag(cap_t state, cap_value_t capability, cap_flag_t flag, bool on) {
  return ::cap_set_flag(state, flag, 1, &capability, on ? CAP_SET : CAP_CLEAR) == 0;
}

bool has_flag(cap_t state, cap_value_t capability, cap_flag_t flag) {
  cap_flag_value_t value = CAP_CLEAR;
  return ::cap_get_flag(state, capability, flag, &value) == 0 && value == CAP_SET;
}

bool kept(std::uint64_t keep, int capability) {
  return (keep >> static_cast<unsigned>(capability) & 1U) != 0;
}

// A process without CAP_SETPCAP cannot shrink its bounding set; no_new_privs then does as much.
void drop_bounding_set(std::uint64_t keep) {
  for (int capability = 0; capability < ::cap_max_bits(); ++capability) {
    if (!kept(keep, capability)) static_cast<void>(::cap_drop_bound(capability));
  }
}

}  // namespace

Result<void> drop_capabilities(std::uint64_t keep) {
  const CapState before(::cap_get_proc());
  const CapState after(::cap_init());
  if (!before || !after) return errno_failure("reading own capabilities");
  if (has_flag(before.get(), CAP_SETPCAP, CAP_EFFECTIVE)) {
    drop_bounding_set(keep);
    const auto bits = static_cast<unsigned long>(SECBIT_NO_SETUID_FIXUP) |
                      SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NOROOT | SECBIT_NOROOT_LOCKED;
    if (::prctl(PR_SET_SECUREBITS, bits) != 0) return errno_failure("setting securebits");
  }
  for (int capability = 0; capability < ::cap_max_bits(); ++capability) {
    const bool keeps = kept(keep, capability) && has_flag(before.get(), capability, CAP_PERMITTED);
    if (!set_flag(after.get(), capability, CAP_PERMITTED, keeps) ||
        !set_flag(after.get(), capability, CAP_EFFECTIVE, keeps)) {
      return errno_failure("building a capability set");
    }
  }
  if (::cap_set_proc(after.get()) != 0) return errno_failure("dropping capabilities");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_failure("setting no_new_privs");
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return errno_failure("making the process undumpable");
  return {};
}

bool keep_over_exec(std::uint64_t bits) {
  const CapState state(::cap_get_proc());
  if (!state) return false;
  for (int capability = 0; capability < ::cap_max_bits(); ++capability) {
    if (!set_flag(state.get(), capability, CAP_INHERITABLE, kept(bits, capability))) return false;
  }
  if (::cap_set_proc(state.get()) != 0) return false;
  for (int capability = 0; capability < ::cap_max_bits(); ++capability) {
    if (kept(bits, capability) && ::cap_set_ambient(capability, CAP_SET) != 0) return false;
  }
  return true;
}

Result<void> drop_privileges(std::uint64_t keep, Duty duty) {
  if (auto dropped = drop_capabilities(keep); !dropped) return dropped;
  return filter_own_calls(duty);
}

Result<void> limit_own_memory(std::uint64_t bytes) {
  if (kSanitized) return {};  // shadow memory counts as well
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  if (::setrlimit(RLIMIT_DATA, &limit) != 0) return errno_failure("limiting own memory");
  // The default of 8 MiB is address space alone, but is what RLIMIT_DATA counts. The largest frame
  // is that of base/pass_fd.cc, 128 KiB.
  constexpr std::size_t kStackBytes = std::size_t{512} << 10U;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  const int failed = ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
  if (failed != 0) return errno_failure("limiting own stacks", failed);
  return {};
}

Result<void> become_nobody() {
  constexpr uid_t kNobody = 65534;  // also nogroup; overflowuid of the kernel
  // First those that are not needed for what follows: a change of ids no longer drops any.
  const std::uint64_t needed = 1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_SETPCAP;
  if (auto dropped = drop_capabilities(needed); !dropped) return dropped;
  if (::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
       ::setresuid(kNobody, kNobody, kNobody) != 0)) {
    return errno_failure("becoming nobody");
  }
  if (auto dropped = drop_capabilities(0); !dropped) return dropped;
  return filter_own_calls(Duty::kCarrying);
}

std::string capability_names(std::uint64_t bits) {
  std::string names;
  for (int capability = 0; capability < 64; ++capability) {
    if (!kept(bits, capability)) continue;
    const std::unique_ptr<char, FreeCap> name(::cap_to_name(capability));
    if (!names.empty()) names += ",";
    names += name ? name.get() : std::to_string(capability);
  }
  return names.empty() ? "none" : names;
}

}  // namespace sidecall::kernel
