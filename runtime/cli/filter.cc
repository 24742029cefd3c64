#include "cli/filter.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace sidecall::cli {
namespace {

// Linux 5.19; libseccomp 2.5 has no attribute for it.
constexpr std::uint64_t kWaitKillable = 1U << 5;
// BPF_MAXINSNS: what seccomp(2) takes.
constexpr std::size_t kMostInstructions = 4096;

struct ReleaseContext {
  void operator()(void* context) const { seccomp_release(context); }
};
using FilterContext = std::unique_ptr<void, ReleaseContext>;

std::optional<std::uint32_t> action_of(std::string_view name, std::optional<std::uint32_t> number) {
  const auto data = static_cast<std::uint16_t>(number.value_or(EPERM));
  if (name == "SCMP_ACT_ALLOW") return SCMP_ACT_ALLOW;
  if (name == "SCMP_ACT_ERRNO") return SCMP_ACT_ERRNO(data);
  if (name == "SCMP_ACT_NOTIFY") return SCMP_ACT_NOTIFY;
  if (name == "SCMP_ACT_LOG") return SCMP_ACT_LOG;
  if (name == "SCMP_ACT_TRAP") return SCMP_ACT_TRAP;
  if (name == "SCMP_ACT_TRACE") return SCMP_ACT_TRACE(data);
  if (name == "SCMP_ACT_KILL" || name == "SCMP_ACT_KILL_THREAD") return SCMP_ACT_KILL_THREAD;
  if (name == "SCMP_ACT_KILL_PROCESS") return SCMP_ACT_KILL_PROCESS;
  return std::nullopt;
}

Result<std::uint64_t> flag_of(std::string_view name) {
  if (name == "SECCOMP_FILTER_FLAG_LOG") return SECCOMP_FILTER_FLAG_LOG;
  if (name == "SECCOMP_FILTER_FLAG_SPEC_ALLOW") return SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  if (name == "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV") return kWaitKillable;
  // One thread installs the filter, before there are others.
  if (name == "SECCOMP_FILTER_FLAG_TSYNC") return std::uint64_t{0};
  return failure("seccomp flag " + std::string(name) + " is not known");
}

// "SCMP_ARCH_X86_64" is "x86_64" to libseccomp.
std::uint32_t architecture_of(std::string_view name) {
  constexpr std::string_view kPrefix = "SCMP_ARCH_";
  if (!name.starts_with(kPrefix)) return 0;
  std::string lower(name.substr(kPrefix.size()));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return seccomp_arch_resolve_name(lower.c_str());
}

scmp_arg_cmp comparison_of(const emulators::Condition& condition) {
  static constexpr std::array kOperators = {SCMP_CMP_NE,       SCMP_CMP_LT, SCMP_CMP_LE,
                                            SCMP_CMP_EQ,       SCMP_CMP_GE, SCMP_CMP_GT,
                                            SCMP_CMP_MASKED_EQ};
  return {.arg = condition.index,
          .op = kOperators[static_cast<std::size_t>(condition.op)],
          .datum_a = condition.value,
          .datum_b = condition.value_two};
}

bool has_repeated_index(const emulators::Conditions& conditions) {
  unsigned seen = 0;
  return std::any_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
    const unsigned bit = 1U << condition.index;
    return (std::exchange(seen, seen | bit) & bit) != 0;
  });
}

tl::unexpected<Error> library_failure(std::string_view doing, int code) {
  return errno_failure("seccomp filter: " + std::string(doing), -code);
}

Result<void> add_rule(void* context, const oci::SeccompRule& rule, std::uint32_t action) {
  std::vector<std::vector<scmp_arg_cmp>> alternatives(1);
  const bool splits = has_repeated_index(rule.args);
  if (splits) alternatives.clear();
  for (const auto& condition : rule.args) {
    if (splits) alternatives.emplace_back();
    alternatives.back().push_back(comparison_of(condition));
  }
  for (const std::string& name : rule.names) {
    const int number = seccomp_syscall_resolve_name(name.c_str());
    if (number == __NR_SCMP_ERROR) continue;
    for (const auto& conditions : alternatives) {
      const int code =
          seccomp_rule_add_array(context, action, number, static_cast<unsigned>(conditions.size()),
                                 conditions.empty() ? nullptr : conditions.data());
      if (code != 0) return library_failure("adding a rule for " + name, code);
    }
  }
  return {};
}

Result<FilterContext> make_context(const oci::SeccompProfile& profile) {
  const auto action = action_of(profile.default_action, profile.default_errno_ret);
  if (!action) return failure("seccomp action " + profile.default_action + " is not known");
  FilterContext context(seccomp_init(*action));
  if (!context) return failure("seccomp filter: libseccomp does not take the default action");
  if (const int code =
          seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
      code != 0) {
    return library_failure("setting the action for other ABIs", code);
  }
  for (const std::string& name : profile.architectures) {
    const std::uint32_t architecture = architecture_of(name);
    if (architecture == 0) return failure("seccomp architecture " + name + " is not known");
    const int code = seccomp_arch_add(context.get(), architecture);
    if (code != 0 && code != -EEXIST) return library_failure("adding " + name, code);
  }
  for (const oci::SeccompRule& rule : profile.syscalls) {
    const auto rule_action = action_of(rule.action, rule.errno_ret);
    if (!rule_action) return failure("seccomp action " + rule.action + " is not known");
    // libseccomp refuses a rule that says what the default says (EACCES).
    if (*rule_action == *action) continue;
    if (auto added = add_rule(context.get(), rule, *rule_action); !added) {
      return pass_on(std::move(added));
    }
  }
  return context;
}

Result<std::vector<sock_filter>> export_program(const FilterContext& context) {
  const UniqueFd file(::memfd_create("sidecall-filter", MFD_CLOEXEC));
  if (!file) return errno_failure("seccomp filter: memfd_create");
  if (const int code = seccomp_export_bpf(context.get(), file.get()); code != 0) {
    return library_failure("compiling", code);
  }
  const off_t bytes = ::lseek(file.get(), 0, SEEK_END);
  std::vector<sock_filter> program(static_cast<std::size_t>(bytes) / sizeof(sock_filter));
  if (program.size() > kMostInstructions) {
    return failure("seccomp filter: more than 4096 instructions; use fewer rules or conditions");
  }
  if (::pread(file.get(), program.data(), static_cast<std::size_t>(bytes), 0) != bytes) {
    return errno_failure("seccomp filter: reading it back");
  }
  return program;
}

}  // namespace

Result<Filter> Filter::build(const oci::SeccompProfile& profile) {
  std::uint64_t flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
  for (const std::string& name : profile.flags) {
    auto flag = flag_of(name);
    if (!flag) return pass_on(std::move(flag));
    flags |= *flag;
  }
  auto context = make_context(profile);
  if (!context) return pass_on(std::move(context));
  auto program = export_program(*context);
  if (!program) return pass_on(std::move(program));
  return Filter(*std::move(program), flags);
}

SysResult<UniqueFd> Filter::install() {
  const sock_fprog program{.len = static_cast<unsigned short>(program_.size()),
                           .filter = program_.data()};
  const auto load = [&] {
    return UniqueFd(
        static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags_, &program)));
  };
  UniqueFd listener = load();
  if (!listener && errno == EACCES && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
    listener = load();
  }
  if (!listener) return sys_failure(errno);
  return listener;
}

}  // namespace sidecall::cli
