#include "unit/policy/filter.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <ostream>
#include <string>

#include "base/file.h"
#include "base/unique_fd.h"
#include "oci/seccomp_json.h"
#include "policy/base_rules.h"

namespace sidecall::policy {
namespace {

std::uint32_t scmp_action(const FilterAction& action) {
  static const std::map<std::string, std::uint32_t> kActions = {
      {"SCMP_ACT_ALLOW", SCMP_ACT_ALLOW},
      {"SCMP_ACT_LOG", SCMP_ACT_LOG},
      {"SCMP_ACT_NOTIFY", SCMP_ACT_NOTIFY},
      {"SCMP_ACT_TRAP", SCMP_ACT_TRAP},
      {"SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS},
      {"SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD},
  };
  if (action.name == "SCMP_ACT_ERRNO") return SCMP_ACT_ERRNO(action.data);
  if (action.name == "SCMP_ACT_TRACE") return SCMP_ACT_TRACE(action.data);
  return kActions.at(action.name);
}

FilterAction action_of_return(std::uint32_t value) {
  const std::uint32_t data = value & SECCOMP_RET_DATA;
  switch (value & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
      return {"SCMP_ACT_ALLOW"};
    case SECCOMP_RET_LOG:
      return {"SCMP_ACT_LOG"};
    case SECCOMP_RET_USER_NOTIF:
      return {"SCMP_ACT_NOTIFY"};
    case SECCOMP_RET_TRAP:
      return {"SCMP_ACT_TRAP"};
    case SECCOMP_RET_KILL_PROCESS:
      return {"SCMP_ACT_KILL_PROCESS"};
    case SECCOMP_RET_KILL_THREAD:
      return {"SCMP_ACT_KILL_THREAD"};
    case SECCOMP_RET_ERRNO:
      return {"SCMP_ACT_ERRNO", data};
    case SECCOMP_RET_TRACE:
      return {"SCMP_ACT_TRACE", data};
    default:
      return {"unknown", value};
  }
}

scmp_arg_cmp comparison(const emulators::Condition& condition) {
  static constexpr std::array kOps = {SCMP_CMP_NE, SCMP_CMP_LT, SCMP_CMP_LE,       SCMP_CMP_EQ,
                                      SCMP_CMP_GE, SCMP_CMP_GT, SCMP_CMP_MASKED_EQ};
  return {condition.index, kOps.at(static_cast<std::size_t>(condition.op)), condition.value,
          condition.value_two};
}

bool repeats_register(const emulators::Conditions& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
    return std::count_if(conditions.begin(), conditions.end(),
                         [&](const auto& other) { return other.index == condition.index; }) > 1;
  });
}

class Builder {
 public:
  explicit Builder(const FilterAction& otherwise)
      : otherwise_(otherwise), context_(seccomp_init(scmp_action(otherwise)), &seccomp_release) {}

  Result<void> add_architecture(const std::string& name) {
    const std::string lower = [&] {
      std::string text = name.substr(std::string_view("SCMP_ARCH_").size());
      std::transform(text.begin(), text.end(), text.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      return text;
    }();
    const int added = seccomp_arch_add(context_.get(), seccomp_arch_resolve_name(lower.c_str()));
    if (added != 0 && added != -EEXIST) return errno_failure("adding " + name, -added);
    return {};
  }

  Result<void> add(const oci::SeccompRule& rule) {
    const FilterAction action = action_of(rule);
    if (action == otherwise_) return {};
    for (const std::string& name : rule.names) {
      const int number = seccomp_syscall_resolve_name(name.c_str());
      if (number == __NR_SCMP_ERROR) continue;
      std::vector<scmp_arg_cmp> args;
      for (const auto& condition : rule.args) args.push_back(comparison(condition));
      const std::size_t step =
          repeats_register(rule.args) ? 1 : std::max<std::size_t>(args.size(), 1);
      for (std::size_t at = 0; at == 0 || at < args.size(); at += step) {
        const auto count = std::min(step, args.size());
        const int added = seccomp_rule_add_array(context_.get(), scmp_action(action), number,
                                                 static_cast<unsigned>(count), args.data() + at);
        if (added != 0) return errno_failure("adding " + action.name + " for " + name, -added);
      }
    }
    return {};
  }

  Result<std::string> bytes() {
    UniqueFd file(memfd_create("filter", MFD_CLOEXEC));
    if (!file) return errno_failure("memfd_create");
    if (const int made = seccomp_export_bpf(context_.get(), file.get()); made != 0) {
      return errno_failure("seccomp_export_bpf", -made);
    }
    if (::lseek(file.get(), 0, SEEK_SET) != 0) return errno_failure("lseek");
    return read_fd(file.get(), 1U << 20);
  }

 private:
  const FilterAction otherwise_;
  std::unique_ptr<void, decltype(&seccomp_release)> context_;
};

}  // namespace

Result<Filter> Filter::build(const oci::SeccompProfile& profile) {
  Builder builder(default_action(profile));
  for (const std::string& name : profile.architectures) {
    if (auto added = builder.add_architecture(name); !added) return pass_on(std::move(added));
  }
  for (const oci::SeccompRule& rule : profile.syscalls) {
    if (auto added = builder.add(rule); !added) return pass_on(std::move(added));
  }
  const auto bytes = builder.bytes();
  if (!bytes) return tl::unexpected<Error>(bytes.error());
  Filter filter;
  filter.program_.resize(bytes->size() / sizeof(sock_filter));
  std::memcpy(filter.program_.data(), bytes->data(), filter.program_.size() * sizeof(sock_filter));
  return filter;
}

FilterAction Filter::decide(kernel::Abi abi, int nr, const Registers& args) const {
  seccomp_data data{
      .nr = nr, .arch = kernel::audit_arch(abi), .instruction_pointer = 0, .args = {}};
  std::copy(args.begin(), args.end(), std::begin(data.args));
  std::uint32_t accumulator = 0;
  std::array<std::uint32_t, BPF_MEMWORDS> memory{};
  for (std::size_t pc = 0; pc < program_.size(); ++pc) {
    const sock_filter& step = program_[pc];
    const auto jump = [&](bool taken) { pc += taken ? step.jt : step.jf; };
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k,
                    sizeof accumulator);
        break;
      case BPF_LD | BPF_MEM:
        accumulator = memory.at(step.k);
        break;
      case BPF_ST:
        memory.at(step.k) = accumulator;
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= step.k;
        break;
      case BPF_JMP | BPF_JA:
        pc += step.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        jump(accumulator == step.k);
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        jump(accumulator > step.k);
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        jump(accumulator >= step.k);
        break;
      case BPF_RET | BPF_K:
        return action_of_return(step.k);
      default:
        return {"unknown instruction", step.code};
    }
  }
  return {"end of program"};
}

SysResult<void> Filter::install() const {
  auto program = program_;
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                          .filter = program.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) return sys_failure(errno);
  return {};
}

void PrintTo(const FilterAction& action, std::ostream* out) {
  *out << action.name << "(" << action.data << ")";
}

void PrintTo(const FilterRule& rule, std::ostream* out) {
  for (const auto& condition : rule.when) {
    *out << "a" << int{condition.index} << " " << oci::compare_name(condition.op) << std::hex
         << " 0x" << condition.value << " 0x" << condition.value_two << std::dec << ", ";
  }
  PrintTo(rule.action, out);
}

}  // namespace sidecall::policy
